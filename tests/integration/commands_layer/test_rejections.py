"""A rejected command changes nothing and leaves only its own row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.db import transaction

from saga_flow import client, conf, exceptions
from saga_flow.client import answers
from saga_flow.models import ActionRun, FlowCommand, FlowRun
from saga_flow.records import Answer, Principal, Request, StartOrder, Target, Wake
from saga_flow.states import TERMINAL, FlowStatus
from tests.support import seeding
from tests.support.engine_tables import changes, dump
from tests.support.standings import run_in

pytestmark = pytest.mark.django_db

F: Final = FlowStatus
P1: Final = Target(instance_id="p1")
WHO: Final = Request(
    source="api", principal=Principal(type="user", id="7", label="ada"), reason="why"
)


def order(**fields: Any) -> StartOrder:
    fields.setdefault("arguments", "{}")
    return StartOrder(workflow_name="parcel.delivery", instance_id="p1", **fields)


ASK: Final[dict[str, Callable[[Target], Answer]]] = {
    "start": lambda _: client.start(order(), WHO),
    "reserve": lambda _: client.start(order(arguments=None), WHO),
    "release": lambda target: client.release(target, WHO),
    "signal": lambda target: client.signal(target, "go", "null", WHO),
    "cancel": lambda target: client.cancel(target, WHO),
    "compensate": lambda target: client.compensate(target, WHO),
    "terminate": lambda target: client.terminate(target, WHO),
    "interrupt": lambda target: client.interrupt(target, WHO),
    "resume": lambda target: client.resume(target, None, WHO),
    "repair": lambda target: client.repair(target, WHO),
    "archive": lambda target: client.archive(target, WHO),
}
ON_A_RUN: Final = sorted(set(ASK) - {"start", "reserve", "release"})


def row_of(answer: Answer) -> FlowCommand:
    """The command row that *answer* is about."""
    assert answer.command_id is not None
    return FlowCommand.objects.get(pk=answer.command_id)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run in a status, a command, and how that is refused."""

    command: str
    status: FlowStatus
    outcome: str
    prepare: Callable[[FlowRun], object] = lambda _: None
    closing_as: FlowStatus | None = None

    def run(self) -> FlowRun:
        """The run, prepared."""
        landing: dict[str, Any] = {}
        if self.closing_as is not None:
            landing["closing_as"] = self.closing_as
        run = run_in(self.status, **landing)
        self.prepare(run)
        return run

    def __str__(self) -> str:
        return f"{self.command}-{self.status}-{self.outcome}"


def undo_is_gone(_: FlowRun) -> None:
    ActionRun.objects.update(undo_name="parcel.gone")


def takes_only_approval(_: FlowRun) -> None:
    FlowRun.objects.update(contract='{"signals":{"approval":null}}')


def holds_as_many_as_it_may(run: FlowRun) -> None:
    for number in range(conf.get().MAX_PENDING_SIGNALS):
        run.signals.create(
            name="go",
            status="received",
            received_seq=number,
            created_at=run.created_at,
        )


CASES: Final = [
    *(
        Case(command=c, status=F.RESERVED, outcome="rejected_not_started")
        for c in ON_A_RUN
    ),
    *(
        Case(command=command, status=status, outcome="rejected_not_active")
        for command in ("signal", "compensate", "interrupt", "resume")
        for status in sorted(TERMINAL)
    ),
    *(
        Case(command="cancel", status=status, outcome="rejected_not_active")
        for status in sorted(TERMINAL - {F.CANCELLED})
    ),
    *(
        Case(command="terminate", status=status, outcome="rejected_not_active")
        for status in sorted(TERMINAL - {F.TERMINATED})
    ),
    *(
        Case(command=command, status=F.CANCELLING, outcome="rejected_not_active")
        for command in ("signal", "interrupt", "resume")
    ),
    *(
        Case(
            command=command,
            status=F.CANCELLING,
            outcome="rejected_conflict",
            closing_as=F.FAILED,
        )
        for command in ("cancel", "compensate")
    ),
    *(
        Case(command="resume", status=status, outcome="rejected_not_interrupted")
        for status in (F.PENDING, F.RUNNING, F.WAITING)
    ),
    *(
        Case(command="archive", status=status, outcome="rejected_run_not_closed")
        for status in (F.PENDING, F.RUNNING, F.WAITING, F.INTERRUPTED, F.CANCELLING)
    ),
    *(
        Case(command="start", status=status, outcome="rejected_duplicate")
        for status in sorted(set(F) - {F.RESERVED})
    ),
    *(
        Case(command="reserve", status=status, outcome="rejected_duplicate")
        for status in sorted(F)
    ),
    *(
        Case(command="release", status=status, outcome="rejected_conflict")
        for status in sorted(set(F) - {F.RESERVED})
    ),
    Case(
        command="compensate",
        status=F.WAITING,
        outcome="rejected_not_plannable",
        prepare=undo_is_gone,
    ),
    Case(
        command="signal",
        status=F.WAITING,
        outcome="rejected_unknown_signal",
        prepare=takes_only_approval,
    ),
    Case(
        command="signal",
        status=F.WAITING,
        outcome="rejected_structural_limit",
        prepare=holds_as_many_as_it_may,
    ),
]


@pytest.mark.covers("M-RUN-8", "LR-20")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rejected_command_leaves_only_its_own_row(
    case: Case, sent: list[Wake]
) -> None:
    case.run()
    before = dump()
    answer = ASK[case.command](P1)
    assert (answer.accepted, answer.outcome) == (False, case.outcome)
    assert answer.rejection_reason == answers.REASON_OF[case.outcome]
    assert answer.message
    found = changes(before, dump())
    assert found == {"FlowCommand": {"added": {answer.command_id}}}
    assert sent == []
    row = row_of(answer)
    assert (row.status, row.outcome, row.rejection_reason) == (
        "rejected",
        answer.outcome,
        answer.rejection_reason,
    )
    assert (row.source, row.principal_id, row.reason) == ("api", "7", "why")
    assert row.rejected_at is not None
    assert row.accepted_at is None


@pytest.mark.parametrize("command", ON_A_RUN)
def test_a_command_to_a_run_that_is_not_current(command: str, sent: list[Wake]) -> None:
    old = run_in(F.COMPLETED, is_current=None)
    seeding.run("p1", status=F.WAITING, run_number=2)
    before = dump()
    answer = ASK[command](Target(run_id=old.pk))
    assert (answer.outcome, answer.rejection_reason) == (
        "rejected_not_current",
        "selected_run_not_current",
    )
    assert changes(before, dump()) == {"FlowCommand": {"added": {answer.command_id}}}
    assert sent == []


@pytest.mark.parametrize("command", ON_A_RUN)
def test_a_command_to_nobody_leaves_nothing(command: str) -> None:
    before = dump()
    answer = ASK[command](Target(instance_id="nobody"))
    assert (answer.accepted, answer.outcome) == (False, "rejected_not_found")
    assert changes(before, dump()) == {}


def test_every_rejected_outcome_of_this_layer_has_a_case() -> None:
    tried = {case.outcome for case in CASES} | {
        "rejected_not_current",
        "rejected_not_found",
    }
    assert tried == set(answers.REASON_OF) - {"rejected_invalid_arguments"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rejection_is_an_error_to_who_wants_one(case: Case) -> None:
    case.run()
    answer = ASK[case.command](P1)
    with pytest.raises(exceptions.CommandRejected) as caught:
        client.raise_for(answer)
    assert (caught.value.outcome, caught.value.reason) == (
        answer.outcome,
        answer.rejection_reason,
    )


@pytest.mark.parametrize(
    ("command", "status", "outcome"),
    [
        ("cancel", F.CANCELLED, "cancelled"),
        ("terminate", F.TERMINATED, "terminated"),
        ("interrupt", F.INTERRUPTED, "interrupted"),
        ("repair", F.INTERRUPTED, "repair_not_needed"),
        *(("repair", status, "repair_not_needed") for status in sorted(TERMINAL)),
    ],
)
def test_a_repeat_is_accepted_and_leaves_only_its_own_row(
    command: str, status: FlowStatus, outcome: str, sent: list[Wake]
) -> None:
    run_in(status)
    before = dump()
    answer = ASK[command](P1)
    assert (answer.accepted, answer.idempotent) == (True, True)
    assert answer.outcome == outcome
    assert changes(before, dump()) == {"FlowCommand": {"added": {answer.command_id}}}
    assert sent == []


def test_archiving_twice_is_not_needed() -> None:
    run_in(F.COMPLETED)
    assert ASK["archive"](P1).outcome == "archived"
    before = dump()
    answer = ASK["archive"](P1)
    assert answer.outcome == "archive_not_needed"
    assert changes(before, dump()) == {"FlowCommand": {"added": {answer.command_id}}}


@pytest.mark.parametrize("closed", sorted(TERMINAL))
def test_the_handle_refuses_to_cancel_what_is_closed(closed: FlowStatus) -> None:
    run_in(closed)
    answer = client.cancel(P1, Request())
    with pytest.raises(exceptions.CannotCancelTerminalFlow):
        client.raise_for(answer)


def test_completion_that_came_first_is_named() -> None:
    run_in(F.COMPLETED)
    assert "completed_before_cancel" in client.cancel(P1, Request()).message


@pytest.mark.parametrize("command", sorted(ASK))
def test_the_same_key_gives_the_first_answer_again(command: str) -> None:
    if command not in {"start", "reserve"}:
        run_in(F.RESERVED if command == "release" else F.WAITING)
    request = Request(idempotency_key="once")
    acts: dict[str, Callable[[], Answer]] = {
        "start": lambda: client.start(order(), request),
        "reserve": lambda: client.start(order(arguments=None), request),
        "release": lambda: client.release(P1, request),
        "signal": lambda: client.signal(P1, "go", "null", request),
        "cancel": lambda: client.cancel(P1, request),
        "compensate": lambda: client.compensate(P1, request),
        "terminate": lambda: client.terminate(P1, request),
        "interrupt": lambda: client.interrupt(P1, request),
        "resume": lambda: client.resume(P1, None, request),
        "repair": lambda: client.repair(P1, request),
        "archive": lambda: client.archive(P1, request),
    }
    first = acts[command]()
    before = dump()
    again = acts[command]()
    assert (again.accepted, again.outcome, again.rejection_reason) == (
        first.accepted,
        first.outcome,
        first.rejection_reason,
    )
    assert (again.run_id, again.command_id) == (first.run_id, first.command_id)
    assert again.idempotent
    assert changes(before, dump()) == {}


def test_a_key_is_of_one_request_only() -> None:
    run_in(F.WAITING)
    request = Request(idempotency_key="once")
    client.signal(P1, "go", "1", request)
    before = dump()
    answer = client.signal(P1, "go", "2", request)
    assert (answer.accepted, answer.outcome) == (False, "rejected_conflict")
    assert "'once'" in answer.message
    assert changes(before, dump()) == {}


def test_a_key_is_of_one_signal_only() -> None:
    """The name of the signal is part of what was asked."""
    run_in(F.WAITING)
    request = Request(idempotency_key="once")
    client.signal(P1, "go", "1", request)
    answer = client.signal(P1, "stop", "1", request)
    assert (answer.accepted, answer.outcome) == (False, "rejected_conflict")


def test_a_repeated_start_without_an_instance_id_is_the_same_start() -> None:
    """The id that the first one was given is no part of what was asked."""
    asked = StartOrder(workflow_name="parcel.delivery", arguments="{}")
    request = Request(idempotency_key="once")
    first, again = client.start(asked, request), client.start(asked, request)
    assert first.outcome == again.outcome == "started_new"
    assert first.run_id == again.run_id
    assert first.instance_id == again.instance_id != ""
    assert FlowRun.objects.count() == 1


def test_a_key_is_of_one_workflow_only() -> None:
    request = Request(idempotency_key="once")
    client.start(StartOrder(workflow_name="parcel.delivery", arguments="{}"), request)
    other = StartOrder(workflow_name="parcel.stuck", arguments="{}")
    assert client.start(other, request).outcome == "rejected_conflict"
    assert FlowRun.objects.count() == 1


@pytest.mark.parametrize(
    ("command", "status", "outcome"),
    [
        ("repair", F.WAITING, "repair_dispatched"),
        ("repair", F.COMPLETED, "repair_not_needed"),
        ("archive", F.COMPLETED, "archived"),
        ("cancel", F.WAITING, "cancelled"),
        ("compensate", F.WAITING, "compensating"),
        ("terminate", F.CANCELLING, "terminated"),
        ("interrupt", F.RUNNING, "interrupted"),
        ("resume", F.INTERRUPTED, "resumed"),
        ("signal", F.INTERRUPTED, "signal_received"),
        ("release", F.RESERVED, "released"),
        ("start", F.RESERVED, "started_new"),
    ],
)
def test_the_row_says_what_the_answer_says(
    command: str, status: FlowStatus, outcome: str
) -> None:
    run_in(status)
    answer = ASK[command](P1)
    row = row_of(answer)
    assert (answer.outcome, row.outcome, row.status) == (outcome, outcome, "accepted")


def test_the_start_of_a_reservation_is_the_second_command_of_its_run() -> None:
    client.start(order(arguments=None), Request())
    client.start(order(), Request())
    rows = FlowCommand.objects.order_by("sequence").values_list("type", "sequence")
    assert list(rows) == [("reserve", 1), ("start", 2)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["cancel", "signal", "interrupt", "terminate"])
def test_in_a_callers_transaction_all_goes_with_it(command: str) -> None:
    run_in(F.WAITING)
    before = dump()
    with transaction.atomic():
        assert ASK[command](P1).accepted
        transaction.set_rollback(True)
    assert changes(before, dump()) == {}


@pytest.mark.django_db(transaction=True)
def test_a_rejection_leaves_a_callers_transaction_usable() -> None:
    run_in(F.COMPLETED)
    with transaction.atomic():
        assert not ASK["start"](P1).accepted
        assert not ASK["cancel"](P1).accepted
        seeding.run("p2")
    assert FlowRun.objects.filter(instance_id="p2").exists()
    assert FlowCommand.objects.count() == 2


def test_a_released_reservation_goes_and_its_commands_stay() -> None:
    client.start(order(arguments=None), Request())
    assert client.release(P1, Request()).outcome == "released"
    assert not FlowRun.objects.exists()
    outcomes = FlowCommand.objects.values_list("outcome", flat=True)
    assert sorted(outcomes) == ["released", "reserved"]
    assert client.start(order(), Request()).outcome == "started_new"


def test_commands_are_numbered_in_the_order_of_the_journal() -> None:
    run_in(F.WAITING)
    for act in ("signal", "interrupt", "resume", "cancel"):
        assert ASK[act](P1).accepted
    numbers = FlowCommand.objects.order_by("sequence").values_list("type", "sequence")
    assert [type_ for type_, _ in numbers] == [
        "signal",
        "interrupt",
        "resume",
        "cancel",
    ]
    assert len({number for _, number in numbers}) == 4

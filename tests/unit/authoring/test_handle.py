"""Handles: what a run is, waiting for it, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import MultipleObjectsReturned

import saga_flow
from saga_flow import (
    CommandRejected,
    DefiniteFailure,
    DefinitionError,
    FlowStatus,
    Handle,
    InvalidName,
    ObservationTimeout,
    PayloadNotDecodable,
    RunCancelled,
    RunContinued,
    RunEnded,
    RunExpired,
    RunFailed,
    RunNotCommitted,
    RunNotFound,
    RunTerminated,
    Signal,
    UnknownOption,
    Unserialisable,
    Workflow,
    clock,
    flows,
    states,
)
from saga_flow.ids import uuid7
from saga_flow.records import Snapshot, Target
from tests.unit.authoring.doors import NOON, FakeClient, FakeQueries, snapshot


@dataclass
class Approval:
    approved: bool


class Checkout(Workflow):
    class Meta:
        name = "test.checkout"

    approval = Signal(Approval)

    def handle(self) -> Approval:
        return Approval(approved=True)


class Other(Workflow):
    def handle(self) -> None: ...


def ended(status: FlowStatus, **changes: Any) -> Snapshot:
    return snapshot(
        status=status, closed_reason=states.CLOSED_REASON_OF[status], **changes
    )


def loaded(queries: FakeQueries, *script: Snapshot) -> Handle[Any]:
    """Return a following handle of the first; each refresh reads the next."""
    queries.script = list(script)
    return flows.load("order-1")


# -------------------------------------------------------------------- what it is


def test_nothing_changes_until_it_is_refreshed(queries: FakeQueries) -> None:
    handle = loaded(queries, snapshot(), ended(FlowStatus.CANCELLED, revision=2))

    assert (handle.status, handle.revision) == (FlowStatus.WAITING, 1)
    assert (handle.status, handle.revision) == (FlowStatus.WAITING, 1)
    handle.refresh()
    assert (handle.status, handle.revision) == (FlowStatus.CANCELLED, 2)


def test_a_following_handle_goes_on_to_the_current_run(queries: FakeQueries) -> None:
    successor = snapshot(run_id=uuid7(), run_number=2)
    handle = loaded(queries, snapshot(), successor)

    assert handle.refresh().run_id == successor.run_id
    assert handle.run_number == 2
    assert queries.targets == [Target(instance_id="order-1")] * 2


def test_a_pinned_handle_stays_with_its_run(queries: FakeQueries) -> None:
    queries.script = [snapshot()]
    handle = flows.load_run(str(snapshot().run_id))
    handle.refresh()

    assert handle.is_pinned
    assert [target.run_id for target in queries.targets] == [snapshot().run_id] * 2


def test_the_properties_show_the_snapshot(queries: FakeQueries) -> None:
    seen = snapshot(
        error={"type": "Declined", "message": "no"},
        status_summary="half way",
        wait_reason="waiting for signal 'approval'",
        business_key="orders.order:1",
        memo={"note": "x"},
        compensation_state="running",
    )
    handle = loaded(queries, seen)

    assert handle.snapshot is seen
    assert (handle.workflow, handle.version) == ("shop.checkout", "2")
    assert handle.error == {"type": "Declined", "message": "no"}
    assert handle.status_summary == "half way"
    assert handle.wait_reason == "waiting for signal 'approval'"
    assert (handle.business_key, handle.memo) == ("orders.order:1", {"note": "x"})
    assert handle.compensation_state == "running"
    assert (handle.created_at, handle.closed_at) == (NOON, None)
    assert (handle.closed_reason, handle.is_terminal) == (None, False)


MAPPINGS = {
    # status: (bucket, running(), eight words, nine words, six words)
    "reserved": (None, False, None, "reserved", None),
    "pending": ("running", True, "pending", "pending", "pending"),
    "running": ("running", True, "running", "running", "running"),
    "waiting": ("running", True, "waiting", "waiting", "running"),
    "interrupted": ("running", True, "waiting", "waiting", "interrupted"),
    "cancelling": ("running", True, "cancelling", "running", "running"),
    "completed": ("completed", False, "completed", "completed", "completed"),
    "failed": ("failed", False, "failed", "failed", "failed"),
    "cancelled": ("failed", False, "cancelled", "cancelled", "cancelled"),
    "terminated": ("failed", False, "cancelled", "terminated", "cancelled"),
    "expired": ("failed", False, "expired", "failed", "failed"),
}


@pytest.mark.parametrize("status", FlowStatus.values)
def test_every_status_is_told_in_all_words(queries: FakeQueries, status: str) -> None:
    handle = loaded(queries, snapshot(status=FlowStatus(status)))

    told = (
        handle.status_bucket,
        handle.running(),
        handle.status_saga_flow,
        handle.status_durable_workflow,
        handle.status_looprig,
    )
    assert told == MAPPINGS[status]
    exact = {
        "completed": handle.completed(),
        "failed": handle.failed(),
        "cancelled": handle.cancelled(),
        "terminated": handle.terminated(),
        "expired": handle.expired(),
    }
    assert [word for word, holds in exact.items() if holds] == (
        [status] if status in exact else []
    )


# --------------------------------------------------------------- what became of it


def test_the_output_of_a_completed_run_is_typed(queries: FakeQueries) -> None:
    done = ended(
        FlowStatus.COMPLETED, workflow_name="test.checkout", result='{"approved":true}'
    )

    assert loaded(queries, done).output() == Approval(approved=True)
    assert loaded(queries, done).result() == Approval(approved=True)


def test_without_the_code_the_output_is_plain_json(queries: FakeQueries) -> None:
    done = ended(
        FlowStatus.COMPLETED, workflow_name="gone.flow", result='{"approved":true}'
    )

    assert loaded(queries, done).output() == {"approved": True}


def test_an_open_run_has_no_output(queries: FakeQueries) -> None:
    assert loaded(queries, snapshot()).output() is None


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (FlowStatus.FAILED, RunFailed),
        (FlowStatus.CANCELLED, RunCancelled),
        (FlowStatus.TERMINATED, RunTerminated),
        (FlowStatus.EXPIRED, RunExpired),
    ],
)
def test_a_run_that_ended_otherwise_raises(
    queries: FakeQueries, status: FlowStatus, error: type[RunEnded]
) -> None:
    told = {"type": "Declined", "message": "no money"}
    handle = loaded(queries, ended(status, reason="by hand", error=told))

    for ask in (handle.output, handle.result):
        with pytest.raises(error, match="Declined: no money") as caught:
            ask()
        assert caught.value.instance_id == "order-1"
        assert caught.value.run_id == handle.run_id
        assert (caught.value.status, caught.value.reason) == (status.value, "by hand")
        assert caught.value.error == told


def test_a_pinned_run_that_continued_names_its_successor(queries: FakeQueries) -> None:
    successor = uuid7()
    queries.script = [
        snapshot(
            status=FlowStatus.COMPLETED, closed_reason="continued", successor=successor
        )
    ]
    handle = flows.load_run(uuid7())

    for ask in (handle.output, handle.result):
        with pytest.raises(RunContinued) as caught:
            ask()
        assert caught.value.successor == successor


def test_a_completed_run_without_a_stored_result_is_told(queries: FakeQueries) -> None:
    with pytest.raises(DefiniteFailure, match="no result is stored"):
        loaded(queries, ended(FlowStatus.COMPLETED)).output()


def test_waiting_looks_less_and_less_often(
    client: FakeClient, queries: FakeQueries
) -> None:
    done = ended(FlowStatus.COMPLETED, result="null")
    handle = loaded(queries, *[snapshot()] * 20, done)

    with clock.fixed(clock.FakeClock(NOON)) as now:
        assert handle.wait() is handle
    assert handle.completed()
    assert timedelta(seconds=8) < now.now - NOON < timedelta(seconds=19)


def test_waiting_looks_at_the_pace_that_is_asked_for(
    client: FakeClient, queries: FakeQueries
) -> None:
    # One read was the load; of the next five only the last finds it closed.
    done = ended(FlowStatus.COMPLETED, result="null")
    handle = loaded(queries, *[snapshot()] * 5, done)

    with clock.fixed(clock.FakeClock(NOON)) as now:
        handle.wait(poll=timedelta(seconds=3))
    assert now.now - NOON == timedelta(seconds=12)


LIMIT = timedelta(seconds=5)


@pytest.mark.parametrize(
    ("used", "given"),
    [(LIMIT, None), (timedelta(hours=1), LIMIT)],
    ids=["by using()", "in the call, which wins"],
)
def test_waiting_ends_at_the_timeout_and_stops_nothing(
    client: FakeClient, queries: FakeQueries, used: timedelta, given: timedelta | None
) -> None:
    handle = loaded(queries, snapshot())

    with (
        clock.fixed(clock.FakeClock(NOON)) as now,
        pytest.raises(ObservationTimeout) as caught,
    ):
        handle.using(timeout=used).wait(given)
    assert now.now - NOON == LIMIT
    assert caught.value.instance_id == "order-1"
    assert (caught.value.run_id, caught.value.status) == (handle.run_id, "waiting")
    assert client.calls == []


def test_a_timeout_of_zero_looks_once(client: FakeClient, queries: FakeQueries) -> None:
    handle = loaded(queries, snapshot()).using(timeout=timedelta(hours=1))

    with pytest.raises(ObservationTimeout):
        handle.wait(timedelta())


def test_waiting_for_a_run_of_this_very_transaction_is_refused_at_once(
    client: FakeClient, queries: FakeQueries
) -> None:
    handle = loaded(queries, snapshot())
    client.uncommitted_runs.add(handle.run_id)

    for wait in (handle.wait, handle.result):
        with pytest.raises(RunNotCommitted, match="Wait after the transaction"):
            wait()


def test_illegal_times_are_refused(client: FakeClient, queries: FakeQueries) -> None:
    handle = loaded(queries, snapshot())
    seconds: Any = 5

    with pytest.raises(DefinitionError, match="timeout is 5, of type int"):
        handle.wait(seconds)
    with pytest.raises(DefinitionError, match="poll is 0"):
        handle.wait(poll=timedelta())


# ------------------------------------------------------------ what is asked of it


COMMANDS = [
    ("cancel", "cancel"),
    ("attempt_cancel", "cancel"),
    ("compensate", "compensate"),
    ("terminate", "terminate"),
    ("attempt_terminate", "terminate"),
    ("interrupt", "interrupt"),
    ("repair", "repair"),
    ("archive", "archive"),
]


@pytest.mark.parametrize(("method", "command"), COMMANDS)
def test_a_command_carries_its_circumstances(
    client: FakeClient, queries: FakeQueries, method: str, command: str
) -> None:
    handle = loaded(queries, snapshot()).using(
        reason="sold out",
        principal="ann",
        expected_revision=3,
        idempotency_key="req-1",
    )

    assert getattr(handle, method)().accepted
    [(kind, target, request)] = client.calls
    assert (kind, target) == (command, Target(instance_id="order-1"))
    assert (request.reason, request.principal.label) == ("sold out", "ann")
    assert (request.expected_revision, request.idempotency_key) == (3, "req-1")


@pytest.mark.parametrize("method", [method for method, _ in COMMANDS])
def test_a_rejected_command_raises_unless_it_is_an_attempt(
    client: FakeClient, queries: FakeQueries, method: str
) -> None:
    handle = loaded(queries, snapshot())
    client.rejection = "run_not_active"

    if method.startswith("attempt_"):
        assert not getattr(handle, method)().accepted
    else:
        with pytest.raises(CommandRejected):
            getattr(handle, method)()


def test_using_leaves_the_handle_itself_alone(
    client: FakeClient, queries: FakeQueries
) -> None:
    handle = loaded(queries, snapshot())
    handle.using(reason="x")
    handle.cancel()

    assert client.calls[0][2].reason == ""


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"raeson": "x"}, UnknownOption, "Did you mean 'reason'"),
        ({"expected_revision": "3"}, DefinitionError, r"from handle\.revision"),
        ({"expected_revision": 0}, DefinitionError, "is no revision"),
        ({"reason": 5}, DefinitionError, "takes a str"),
        ({"timeout": 5}, DefinitionError, "takes a timedelta"),
    ],
)
def test_an_illegal_option_is_refused(
    queries: FakeQueries, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        loaded(queries, snapshot()).using(**options)


def test_a_reason_is_cut_to_512_bytes(client: FakeClient, queries: FakeQueries) -> None:
    loaded(queries, snapshot()).using(reason="ö" * 300).cancel()

    assert client.calls[0][2].reason == "ö" * 256


def test_a_signal_by_name_or_by_declaration(
    client: FakeClient, queries: FakeQueries
) -> None:
    handle = loaded(queries, snapshot())
    handle.signal("approval", {"approved": True})
    handle.signal(Checkout.approval, Approval(approved=False))
    handle.signal("ping")

    assert [call[2:4] for call in client.calls] == [
        ("approval", '{"approved":true}'),
        ("approval", '{"approved":false}'),
        ("ping", "null"),
    ]


def test_a_signal_that_can_t_be_stored_or_read_is_refused(
    client: FakeClient, queries: FakeQueries
) -> None:
    handle = loaded(queries, snapshot())
    wrong: Any = {"aproved": True}

    with pytest.raises(Unserialisable, match="the payload of signal 'approval'"):
        handle.signal("approval", object())
    with pytest.raises(PayloadNotDecodable, match="'aproved'"):
        handle.signal(Checkout.approval, wrong)
    with pytest.raises(InvalidName, match="the name of a signal"):
        handle.signal("no spaces")
    assert client.calls == []


def test_signal_if_running_tells_whether_it_was_taken(
    client: FakeClient, queries: FakeQueries
) -> None:
    handle = loaded(queries, snapshot())
    assert handle.signal_if_running("ping") is True

    for client.rejection in ("run_not_active", "instance_not_started"):
        assert handle.signal_if_running("ping") is False
        assert not handle.attempt_signal("ping").accepted

    client.rejection = "structural_limit_exceeded"
    with pytest.raises(CommandRejected):
        handle.signal_if_running("ping")


def test_resume_may_carry_a_payload(client: FakeClient, queries: FakeQueries) -> None:
    handle = loaded(queries, snapshot())
    handle.resume()
    handle.resume(Approval(approved=True))

    assert [call[2] for call in client.calls] == [None, '{"approved":true}']
    with pytest.raises(Unserialisable, match=r"the payload of resume\(\)"):
        handle.resume(object())


def test_the_readers_read_the_run_that_is_shown(queries: FakeQueries) -> None:
    handle = loaded(queries, snapshot())

    readers = {
        "history": "history",
        "actions": "steps",
        "signals": "signals",
        "timers": "timers",
        "compensations": "compensations",
        "children": "children",
        "commands": "commands",
        "tags": "tags",
    }
    for method, rows in readers.items():
        assert getattr(handle, method)() == ((rows, handle.run_id),)


def test_it_shows_what_it_is(client: FakeClient, queries: FakeQueries) -> None:
    assert repr(loaded(queries, snapshot())).endswith("of 'order-1': waiting>")
    assert repr(Other.start()) == f"<run {client.run_id} of 'made-up': not read yet>"


# --------------------------------------------------------------------------- flows


def test_load_checks_the_workflow(queries: FakeQueries) -> None:
    queries.script = [snapshot(workflow_name="test.checkout")]

    assert flows.load("order-1", Checkout).workflow == "test.checkout"
    with pytest.raises(RunNotFound, match=r"is a run of test\.checkout, not of"):
        flows.load("order-1", Other)


def test_load_checks_what_it_is_given(queries: FakeQueries) -> None:
    with pytest.raises(InvalidName, match="instance_id"):
        flows.load("order 1")
    with pytest.raises(InvalidName, match="tenant"):
        flows.load("order-1", tenant="a b")
    with pytest.raises(DefinitionError, match=r"an instance id goes to flows\.load"):
        flows.load_run("order-1")
    with pytest.raises(RunNotFound):
        flows.load("order-1")
    assert len(queries.targets) == 1


def test_a_selection_is_pinned_to_the_run_it_names(queries: FakeQueries) -> None:
    queries.script = [snapshot()]
    run_id = snapshot().run_id

    assert flows.load_selection("order-1", run_id).is_pinned
    assert not flows.load_selection("order-1").is_pinned
    with pytest.raises(RunNotFound, match="'order-2' has no run"):
        flows.load_selection("order-2", run_id)
    with pytest.raises(RunNotFound, match="has no run"):
        flows.load_selection("order-1", run_id, tenant="acme")


def test_a_filter_may_name_a_class(queries: FakeQueries) -> None:
    flows.filter(workflow=Checkout, status="waiting")

    assert queries.filters == [{"workflow": "test.checkout", "status": "waiting"}]


def test_what_a_filter_finds(queries: FakeQueries) -> None:
    queries.script = [snapshot(run_id=uuid7()), snapshot(run_id=uuid7())]
    found = flows.filter(status="waiting")
    ids = [each.run_id for each in queries.script]

    assert [handle.run_id for handle in found.handles()] == ids
    assert all(handle.is_pinned for handle in found.iterator())
    assert found.count() == 2
    first = found.first()
    assert first is not None
    assert first.run_id == ids[0]
    page = found.page(cursor="next")
    assert ([each.run_id for each in page.items], page.next_cursor) == (ids, "next")
    with pytest.raises(MultipleObjectsReturned, match="More than one run"):
        found.get()


def test_a_selection_can_be_narrowed_to_what_a_signal_would_wake(
    queries: FakeQueries,
) -> None:
    found = flows.filter(status="waiting")

    assert found.signalable().filter.signalable
    assert not found.filter.signalable


@pytest.mark.covers("M-RUN-3")
def test_get_finds_the_only_one(queries: FakeQueries) -> None:
    found = flows.filter(instance_id="order-1")

    with pytest.raises(RunNotFound, match="order-1"):
        found.get()
    assert found.first() is None
    queries.script = [snapshot()]
    for one in (found.get(), found.first()):
        assert one is not None
        assert one.run_id == snapshot().run_id


@pytest.mark.covers("M-MISC-1")
def test_a_host_can_add_to_the_entry_point(
    queries: FakeQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_order(number: int) -> Handle[Any]:
        return flows.load(f"order-{number}")

    monkeypatch.setattr(flows, "of_order", of_order, raising=False)
    queries.script = [snapshot()]

    assert saga_flow.flows.of_order(1).instance_id == "order-1"  # type: ignore[attr-defined] # added at run time

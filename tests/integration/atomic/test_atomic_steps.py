"""Bodies whose effects and outcomes are one transaction: both stand, or neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from saga_flow import FlowStatus, clock, flows, jobs
from saga_flow.authoring.handle import Handle
from saga_flow.exceptions import NonRetryable
from saga_flow.executors import inline
from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowEvent,
    FlowRun,
)
from saga_flow.records import Wake, Wanted
from saga_flow.states import ActionStatus, CompensationStatus
from saga_flow.store import joint, outbox
from tests.integration.atomic.flows import (
    Inline,
    Optional,
    Queued,
    TakenBack,
    during,
    effects,
    ran,
)
from tests.support.engine_tables import check_journal
from tests.support.faults import busy
from tests.zoo.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

BOTH = pytest.mark.parametrize("flow", [Inline, Queued])
WHOLE = ["before", "book", "after"]


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[clock.FakeClock]:
    """A clock that stands still, hints in this process, and nothing yet."""
    monkeypatch.setattr(outbox, "_send", inline.wake)
    inline.clear()
    ran.clear()
    during.clear()
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake
    inline.clear()


def driven(flow: Any, *arguments: Any) -> FlowRun:
    """Start a run and drive it as far as hints go."""
    handle = flow.using(instance_id="a1").start(*arguments)
    inline.drain(jobs.execute)
    run = FlowRun.objects.get(pk=handle.run_id)
    check_journal(run.pk)
    return run


def the_step(run: FlowRun) -> ActionRun:
    return ActionRun.objects.get(run=run, name="atomic.book")


def error_of(run: FlowRun) -> str:
    return the_step(run).error or ""


def once(do: Callable[[], object]) -> Callable[[], object]:
    """*do* in the first call alone."""
    calls: list[int] = []

    def body() -> object:
        calls.append(1)
        return do() if len(calls) == 1 else "second"

    return body


def before_the_body(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Have somebody else *do* something once the step was begun; for once."""
    real = joint.once
    rest = [do]

    def with_company(*arguments: Any) -> Any:
        while rest:
            rest.pop()()
        return real(*arguments)

    monkeypatch.setattr(joint, "once", with_company)


def rejected(run: FlowRun) -> list[str]:
    lines = FlowEvent.objects.filter(run=run, type="action.outcome_rejected")
    return list(lines.values_list("data", flat=True))


# ----------------------------------------------------------------- both stand


@BOTH
def test_its_effect_and_its_outcome_stand(flow: Any) -> None:
    run = driven(flow)

    assert (run.status, run.result) == (FlowStatus.COMPLETED, '"book"')
    assert effects() == WHOLE
    step = the_step(run)
    assert (step.status, step.result, step.attempt) == ("completed", '"book"', 1)
    assert step.worker is None


@BOTH
def test_its_body_is_in_a_transaction_and_a_nested_block_is_a_savepoint(
    flow: Any,
) -> None:
    def body() -> str:
        assert connection.in_atomic_block
        Effect.objects.create(name="kept", attempt=1, pid=1)
        with pytest.raises(IntegrityError), transaction.atomic():
            Effect.objects.create(
                pk=Effect.objects.get(name="kept").pk, attempt=1, pid=1
            )
        return "nested"

    during["book"] = body

    assert driven(flow).result == '"nested"'
    assert effects() == ["before", "book", "kept", "after"]


@BOTH
def test_hooks_run_after_the_commit_and_an_error_in_one_is_no_failure(
    flow: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def body() -> str:
        def look() -> None:
            status = ActionRun.objects.get(name="atomic.book").status
            seen.append(f"{status}, open: {connection.in_atomic_block}")

        transaction.on_commit(lambda: 1 / 0)
        transaction.on_commit(look)
        return "hooked"

    during["book"] = body

    assert driven(flow).result == '"hooked"'
    assert seen == ["completed, open: False"]
    assert "on_commit" in caplog.text


# -------------------------------------------------------------- neither stands


@BOTH
def test_a_failing_body_leaves_its_failure_alone(flow: Any) -> None:
    during["book"] = lambda: 1 / 0

    run = driven(flow)

    assert run.status == FlowStatus.FAILED
    assert effects() == ["before"]
    step = the_step(run)
    assert (step.status, step.in_doubt) == (ActionStatus.FAILED, False)
    assert "ZeroDivisionError" in error_of(run)


@BOTH
def test_a_try_that_failed_is_undone_before_the_next_one(flow: Any) -> None:
    during["book"] = once(lambda: 1 / 0)

    run = driven(flow, 2)

    assert (run.status, run.result) == (FlowStatus.COMPLETED, '"second"')
    assert effects() == WHOLE
    assert the_step(run).attempt == 2
    assert ActionAttempt.objects.get(run=run).outcome == "failed"


def test_an_optional_one_that_gave_up_leaves_nothing() -> None:
    during["book"] = lambda: 1 / 0

    assert driven(Optional).result == '"nothing"'
    assert effects() == []


def test_an_error_that_says_so_is_not_tried_again() -> None:
    def body() -> None:
        raise NonRetryable("no")

    during["book"] = body

    assert the_step(driven(Inline, 3)).attempt == 1
    assert effects() == ["before"]


@BOTH
def test_a_result_that_cannot_be_stored_is_undone_and_not_in_doubt(flow: Any) -> None:
    during["book"] = object

    run = driven(flow, 3)

    step = the_step(run)
    assert (step.status, step.attempt) == (ActionStatus.FAILED, 1)
    assert step.in_doubt is False
    assert "was rolled back" in error_of(run)
    assert effects() == ["before"]


def _set_rollback() -> None:
    transaction.set_rollback(True)


def _swallow() -> None:
    try:
        with transaction.atomic(savepoint=False):
            _ = 1 / 0
    except ZeroDivisionError:
        pass


def _leave_open() -> None:
    transaction.atomic().__enter__()
    Effect.objects.create(name="inner", attempt=1, pid=1)


SPOILT = {
    "set_rollback": (_set_rollback, "marked for a rollback"),
    "swallowed": (_swallow, "marked for a rollback"),
    "closed": (connection.close, "closed its connection"),
    "autocommit": (lambda: transaction.set_autocommit(True), "TransactionManagement"),
    "left open": (_leave_open, "block open"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_body_that_spoils_its_transaction_fails_and_leaves_nothing(how: str) -> None:
    body, said = SPOILT[how]
    during["book"] = body

    run = driven(Inline)

    assert said in error_of(run)
    step = the_step(run)
    assert (step.status, step.in_doubt) == (ActionStatus.FAILED, False)
    assert effects() == ["before"]
    assert not connection.in_atomic_block
    assert connection.get_autocommit()


def test_a_body_that_ends_its_transaction_is_in_doubt_and_not_tried_again() -> None:
    def body() -> None:
        with connection.cursor() as cursor:
            cursor.execute("COMMIT")

    during["book"] = body

    run = driven(Inline, 3)

    step = the_step(run)
    assert (step.status, step.attempt) == (ActionStatus.FAILED, 1)
    assert step.in_doubt is True
    assert "COMMIT or ROLLBACK" in error_of(run)
    assert effects() == ["before", "book"]


# ---------------------------------------------------- undone by the database


@BOTH
def test_what_the_database_undid_is_done_again_in_the_same_attempt(flow: Any) -> None:
    def body() -> None:
        connection.errors_occurred = True
        raise busy(connection.vendor)

    during["book"] = once(body)

    run = driven(flow)

    assert run.status == FlowStatus.COMPLETED
    assert ran.count("book") == 2
    assert the_step(run).attempt == 1
    assert effects() == WHOLE


def test_an_error_of_another_database_is_a_failure_like_any_other() -> None:
    def body() -> None:
        raise busy(connection.vendor)

    during["book"] = body

    run = driven(Inline)

    assert run.status == FlowStatus.FAILED
    assert ran.count("book") == 1


def test_what_the_database_undoes_each_time_fails_in_the_end() -> None:
    def body() -> None:
        connection.errors_occurred = True
        raise busy(connection.vendor)

    during["book"] = body

    run = driven(Inline)

    assert run.status == FlowStatus.FAILED
    assert ran.count("book") == 6
    assert effects() == ["before"]


# ------------------------------------------------------------------- overtaken

COMMANDS: dict[str, Callable[[Handle[Any]], object]] = {
    "cancel": Handle.cancel,
    "compensate": Handle.compensate,
    "terminate": Handle.terminate,
}


@pytest.mark.parametrize(
    ("flow", "command"),
    [
        (Inline, "cancel"),
        (Inline, "compensate"),
        (Inline, "terminate"),
        (Queued, "compensate"),
    ],
)
def test_under_a_run_that_was_ended_neither_stands(
    flow: Any, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_body(monkeypatch, lambda: COMMANDS[command](flows.load("a1")))

    run = driven(flow)

    assert run.status in {FlowStatus.CANCELLED, FlowStatus.TERMINATED}
    assert effects() == ["before"]
    assert ran == ["before", "book"]
    step = the_step(run)
    assert step.status == ActionStatus.CANCELLED
    assert run.attention == ""
    if command == "compensate":
        # its claim was given back at once, so that nobody had to wait for it
        assert step.in_doubt is False
        assert rejected(run) == []
    else:
        assert len(rejected(run)) == 1


def test_a_queued_one_is_undone_when_its_run_is_paused_and_done_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before_the_body(monkeypatch, lambda: flows.load("a1").interrupt())

    run = driven(Queued)

    assert (run.status, effects()) == (FlowStatus.INTERRUPTED, ["before"])
    step = the_step(run)
    assert (step.status, step.worker) == (ActionStatus.PENDING, None)
    flows.load("a1").resume()
    inline.drain(jobs.execute)
    run.refresh_from_db()
    assert (run.status, effects()) == (FlowStatus.COMPLETED, WHOLE)


def test_under_a_lease_that_was_taken_over_it_is_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def take_over() -> None:
        runs = FlowRun.objects.filter(instance_id="a1")
        runs.update(lease_owner=None, lease_epoch=F("lease_epoch") + 1)
        inline.wake(Wake(kind=Wanted.DRIVE, id=str(runs.get().pk), queue="saga_flow"))

    before_the_body(monkeypatch, take_over)

    run = driven(Inline)

    assert run.status == FlowStatus.COMPLETED
    assert effects() == WHOLE
    assert the_step(run).attempt == 2


def test_a_body_that_ends_its_own_run_fails() -> None:
    during["book"] = lambda: flows.load("a1").cancel()

    run = driven(Inline)

    assert run.status == FlowStatus.FAILED
    assert "its own run" in error_of(run)
    assert effects() == ["before"]


# ----------------------------------------------------------------------- undos


def test_an_undo_stands_with_its_outcome() -> None:
    run = driven(TakenBack)

    assert (run.status, run.compensation_state) == (FlowStatus.FAILED, "completed")
    assert effects() == ["book", "undo book"]


def test_an_undo_that_failed_leaves_nothing_and_is_tried_again() -> None:
    during["undo book"] = once(lambda: 1 / 0)

    run = driven(TakenBack)

    assert run.compensation_state == "completed"
    assert effects() == ["book", "undo book"]
    undo = CompensationRun.objects.get(run=run)
    assert (undo.status, undo.attempt) == (CompensationStatus.COMPLETED, 2)


def test_an_undo_whose_claim_is_gone_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody else has begun another try meanwhile: that one counts."""

    def supersede() -> None:
        claimed = CompensationRun.objects.filter(status="running")
        claimed.update(token=F("token") + 1)

    during["book"] = lambda: before_the_body(monkeypatch, supersede)

    run = driven(TakenBack)

    assert effects() == ["book"]
    assert CompensationRun.objects.get(run=run).status == "running"
    assert FlowEvent.objects.filter(type="compensation.outcome_rejected").count() == 1

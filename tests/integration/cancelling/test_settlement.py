"""What a finished run leaves behind, and what becomes of outcomes that come late."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from saga_flow import client, sweeps
from saga_flow.engine import drive, ending
from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowEvent,
    FlowRun,
    FlowSignal,
    FlowTimer,
    SideEffect,
)
from saga_flow.records import Gathered, Request, Target
from saga_flow.states import (
    ActionStatus,
    FlowStatus,
    SignalStatus,
    TimerStatus,
    WorkerStatus,
)
from saga_flow.store import claims, passes, rollback
from saga_flow.store.transaction import Refused
from tests.support import seeding
from tests.support.engine_tables import changes, check_journal, dump
from tests.support.parcels import Delivery, Labelled, Stuck, during, ran
from tests.support.standings import claim_on, overdue, run_in, stranger

pytestmark = pytest.mark.django_db(transaction=True)

P1: Final = Target(instance_id="p1")
F: Final = FlowStatus


def the_run() -> FlowRun:
    return FlowRun.objects.get(instance_id="p1")


def step_of(run: FlowRun, sequence: int) -> ActionRun:
    return ActionRun.objects.get(run=run, sequence=sequence)


# ---- In the transaction that makes a run terminal.

ENDS: Final[dict[FlowStatus, tuple[FlowStatus, Callable[[FlowRun], object]]]] = {
    F.COMPLETED: (
        F.RUNNING,
        lambda run: passes.complete(claim_on(run), Gathered(), "null", 1),
    ),
    F.FAILED: (F.RUNNING, lambda run: passes.fail_now(claim_on(run), Gathered(), "{}")),
    F.CANCELLED: (F.WAITING, lambda _: client.cancel(P1, Request())),
    F.TERMINATED: (F.WAITING, lambda _: client.terminate(P1, Request())),
    F.EXPIRED: (F.CANCELLING, lambda run: rollback.close(claim_on(run))),
}


def full_run(source: FlowStatus) -> FlowRun:
    """A run with a row in every status under it."""
    landing: dict[str, Any] = {}
    if source is F.CANCELLING:
        landing["closing_as"] = F.EXPIRED
    run = run_in(source, **landing)
    ActionRun.objects.filter(run=run).update(undo_name="")
    for number, status in enumerate(ActionStatus, start=1):
        seeding.step(run, number, status=status, error=None, attempt=2)
    for number, mark in enumerate(SignalStatus, start=20):
        FlowSignal.objects.create(
            run=run,
            name="go",
            status=mark,
            sequence=None if mark is SignalStatus.RECEIVED else number,
            created_at=run.created_at,
        )
    for number, state in enumerate(TimerStatus, start=30):
        FlowTimer.objects.create(
            run=run,
            sequence=number,
            status=state,
            fire_at=run.created_at,
            created_at=run.created_at,
        )
    return run


@pytest.mark.parametrize("end", sorted(ENDS))
def test_the_end_of_a_run_settles_what_it_held(end: FlowStatus) -> None:
    source, act = ENDS[end]
    run = full_run(source)
    before = dump()
    act(run)
    after = dump()
    assert the_run().status == end
    live = {"pending", "running", "awaiting_retry"}
    for key, old in before["ActionRun"].items():
        new = after["ActionRun"][key]
        if old["status"] in live:
            assert (new["status"], new["closed_by"]) == ("cancelled", "run")
            assert new["closed_at"] is not None
            # nothing happened to the step: its run ended
            assert new["error"] is None
            assert new["in_doubt"] is (old["status"] == "running")
        else:
            assert new == old
    expected = {"waiting": "cancelled", "pending": "cancelled"}
    for table in ("FlowSignal", "FlowTimer"):
        for key, old in before[table].items():
            new = after[table][key]
            assert new["status"] == expected.get(old["status"], old["status"])
            assert (new == old) is (old["status"] not in expected)
    types = check_journal(run.pk)
    assert [t for t in types if not t.startswith(("flow.", "command."))] == []


@pytest.mark.parametrize("end", sorted(ENDS))
def test_the_closing_line_carries_the_counts(end: FlowStatus) -> None:
    source, act = ENDS[end]
    run = full_run(source)
    act(run)
    line = FlowEvent.objects.filter(run=run).order_by("-sequence").first()
    assert line is not None
    assert line.type == f"flow.{end}"
    told = json.loads(line.data)
    assert (told["steps"], told["waits"], told["timers"]) == (3, 1, 1)
    # full_run gives the steps their ordinals in the order of the enum
    assert told["in_doubt"] == [ActionStatus.values.index("running") + 1]


def test_an_undo_that_did_not_finish_is_left_as_it_is_and_told() -> None:
    """STOP: the failed undo halts the rollback, the older one stays pending."""
    run = Stuck.using(instance_id="p1").run_sync("p1").run_id
    undos = CompensationRun.objects.filter(run_id=run).order_by("level")
    assert [undo.status for undo in undos] == ["failed", "pending"]
    row = the_run()
    assert (row.status, row.compensation_state) == ("failed", "failed")
    assert row.attention == "rollback_unfinished"
    error = json.loads(row.error or "{}")
    assert error["step"] == 2
    assert error["cause"]["type"] == "Declined"
    assert error["compensation"]["type"] == "CompensationFailed"
    assert error["compensation"]["left"] == [1, 0]


def test_terminate_leaves_an_undo_in_flight_to_record_its_outcome() -> None:
    def terminate() -> None:
        assert client.terminate(P1, Request()).accepted
        row = the_run()
        assert (row.status, row.compensation_state) == ("terminated", "failed")
        left = json.loads(row.error or "{}")["compensation"]
        assert (left["type"], left["left"]) == ("CompensationUnfinished", [1, 0])

    during("undo:charge", terminate)
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False, fail=True).run_id
    undos = CompensationRun.objects.filter(run_id=run).order_by("level")
    assert [undo.status for undo in undos] == ["completed", "pending"]
    assert ran[-1] == "undo:charge"
    left = json.loads(the_run().error or "{}")["compensation"]
    assert left["left"] == [0]
    check_journal(run)


def test_a_cancelled_step_is_inert() -> None:
    run = run_in(F.WAITING)
    step = seeding.step(
        run,
        1,
        name="parcel.ship",
        status=ActionStatus.PENDING,
        queued=True,
        available_at=run.created_at,
    )
    client.cancel(P1, Request())
    before = dump(without=frozenset({"Worker", "Lease"}))
    assert claims.claim_step(step.pk, stranger()) is None
    for sweep in ("due_work", "deadlines", "doctor"):
        sweeps.run(sweep)
    after = dump(without=frozenset({"Worker", "Lease"}))
    assert changes(before, after) == {}


# ---- Late outcomes.


@pytest.mark.covers("LR-22")
def test_a_late_success_of_a_cancelled_run_is_refused_kept_and_listed() -> None:
    """Its effect took place, and no row counts it: a person has to know."""
    during("charge", lambda: client.cancel(P1, Request()))
    run = Delivery.using(instance_id="p1").run_sync("p1").run_id
    row = the_run()
    assert (row.status, row.attention) == ("cancelled", "outcome_rejected")
    step = step_of(row, 1)
    assert (step.status, step.result, step.in_doubt) == ("cancelled", None, True)
    line = FlowEvent.objects.get(run_id=run, type="action.outcome_rejected")
    assert json.loads(line.data)["result"] == '"charge-p1"'
    attempt = ActionAttempt.objects.get(run_id=run, sequence=1)
    assert attempt.outcome == "superseded"
    assert ran == ["reserve", "charge"]
    check_journal(run)


def test_a_late_failure_of_a_terminated_run_is_kept_and_not_listed() -> None:
    during("decline", lambda: client.terminate(P1, Request()))
    Delivery.using(instance_id="p1").run_sync("p1", wait=False, fail=True)
    row = the_run()
    assert (row.status, row.attention) == ("terminated", "")
    assert check_journal(row.pk).count("action.outcome_rejected") == 1


def take_over() -> None:
    """What another worker does once this one is stored as lost."""
    run = the_run()
    FlowRun.objects.filter(pk=run.pk).update(
        lease_owner=seeding.worker(WorkerStatus.LOST).pk,
        lease_epoch=run.lease_epoch + 1,
    )


def test_an_outcome_is_recorded_by_its_claim_whatever_became_of_the_lease() -> None:
    """Without row 6 the body would run again, though its result is known."""
    during("charge", take_over)
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False).run_id
    assert step_of(the_run(), 1).status == ActionStatus.COMPLETED
    client.drive(run)
    assert the_run().status == F.COMPLETED
    assert ran == ["reserve", "charge", "ship"]
    check_journal(run)


def test_the_outcome_of_a_superseded_attempt_is_refused() -> None:
    """Another worker began the step anew: the first one's result counts no more."""

    def begin_anew() -> None:
        take_over()
        drive.drive(the_run().pk)

    during("charge", begin_anew)
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False).run_id
    row = the_run()
    assert ran == ["reserve", "charge", "charge", "ship"]
    assert (row.status, row.attention) == ("completed", "outcome_rejected")
    step = step_of(row, 1)
    assert (step.status, step.attempt) == ("completed", 2)
    assert check_journal(run).count("action.outcome_rejected") == 1
    assert FlowEvent.objects.filter(run_id=run, type="action.completed").count() == 3


def test_an_outcome_under_an_interrupt_is_recorded_with_the_pause() -> None:
    during("reserve", lambda: client.interrupt(P1, Request()))
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False).run_id
    row = the_run()
    assert (row.status, row.intent) == ("interrupted", None)
    assert step_of(row, 0).status == ActionStatus.COMPLETED
    assert ran == ["reserve"]
    assert client.resume(P1, None, Request()).accepted
    client.drive(run)
    assert the_run().status == F.COMPLETED
    assert ran == ["reserve", "charge", "ship"]


def test_a_value_recorded_before_an_interrupt_is_counted() -> None:
    """Without the position beside it the next pass takes the history for broken."""
    during("label", lambda: client.interrupt(P1, Request()))
    run = Labelled.using(instance_id="p1").run_sync("p1").run_id
    row = the_run()
    assert row.status == F.INTERRUPTED
    recorded = SideEffect.objects.filter(run_id=run).count()
    assert row.position == 1 + recorded
    assert client.resume(P1, None, Request()).accepted
    client.drive(run)
    assert (the_run().status, the_run().error) == (F.COMPLETED, None)


def test_an_interrupt_meets_a_cancel() -> None:
    during("reserve", lambda: client.interrupt(P1, Request()))
    during("charge", lambda: client.cancel(P1, Request()))
    Delivery.using(instance_id="p1").run_sync("p1", wait=False)
    assert client.cancel(P1, Request()).accepted
    row = the_run()
    assert (row.status, row.intent) == ("cancelled", None)
    assert ran == ["reserve"]


# ---- What holds whatever happens.


def test_guarantee_1_a_recorded_step_never_runs_again() -> None:
    run = Delivery.using(instance_id="p1").run_sync("p1").run_id
    for _ in range(3):
        FlowRun.objects.filter(pk=run).update(wake_at=the_run().created_at)
        drive.drive(run)
    assert ran == ["reserve", "charge"]
    client.signal(P1, "go", '"now"', Request())
    client.drive(run)
    client.drive(run)
    assert ran == ["reserve", "charge", "ship"]


def test_guarantee_2_a_body_runs_once_an_attempt() -> None:
    """A second hint while the body runs finds the run held, and starts nothing."""
    during("charge", lambda: drive.drive(the_run().pk))
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False).run_id
    assert ran == ["reserve", "charge", "ship"]
    attempts = ActionRun.objects.filter(run_id=run).values_list("attempt", flat=True)
    assert set(attempts) == {1}


WHILE_A_BODY_RUNS: Final[dict[str, Callable[[], Any]]] = {
    "signal": lambda: client.signal(P1, "go", '"now"', Request()),
    "interrupt": lambda: client.interrupt(P1, Request()),
    "cancel": lambda: client.cancel(P1, Request()),
    "compensate": lambda: client.compensate(P1, Request()),
    "terminate": lambda: client.terminate(P1, Request()),
    "expire": lambda: (
        FlowRun.objects.update(**overdue()),
        ending.expire(the_run().pk),
    ),
    "take over": take_over,
    "drive": lambda: drive.drive(the_run().pk),
    "sweep": lambda: [sweeps.run(name) for name in sweeps.REGISTERED],
}


@pytest.mark.parametrize("what", WHILE_A_BODY_RUNS)
@pytest.mark.parametrize("body", ["reserve", "charge", "ship"])
def test_guarantee_5_nothing_accepted_and_no_outcome_is_lost(
    what: str, body: str
) -> None:
    """Whatever comes while a body runs is kept, and what was done is accounted for."""
    during(body, WHILE_A_BODY_RUNS[what])
    run = Delivery.using(instance_id="p1").start("p1").run_id
    drive.drive(run)
    accepted = client.signal(P1, "go", '"now"', Request()).accepted
    client.drive(run)
    if the_run().status == F.INTERRUPTED:
        client.resume(P1, None, Request())
        client.drive(run)
    types = check_journal(run)
    kept = set(
        ActionRun.objects.filter(run_id=run, status="completed").values_list(
            "name", flat=True
        )
    )
    lost = {f"parcel.{name}" for name in ran if not name.startswith("undo:")} - kept
    deliveries = FlowSignal.objects.filter(run_id=run, received_seq__isnull=False)
    assert deliveries.count() == types.count("signal.received")
    assert deliveries.count() == accepted + (what == "signal")
    # an effect that no row counts is in the journal, and a person is told
    assert types.count("action.outcome_rejected") == len(lost)
    assert (the_run().attention == "outcome_rejected") is bool(lost)
    assert len(ran) == len(set(ran))
    undone = {name.removeprefix("undo:") for name in ran if name.startswith("undo:")}
    if the_run().status == F.COMPLETED:
        assert kept == {"parcel.reserve", "parcel.charge", "parcel.ship"}
        assert undone == set()
    elif the_run().compensation_state == "completed":
        assert undone == {name.removeprefix("parcel.") for name in kept} - {"ship"}


def test_guarantee_8_a_line_for_each_outcome_and_none_besides() -> None:
    run = Delivery.using(instance_id="p1").run_sync("p1", wait=False, fail=True).run_id
    types = check_journal(run)
    assert types.count("action.started") == len(ActionRun.objects.filter(run_id=run))
    assert types.count("action.completed") == 2
    assert types.count("action.failed") == 1
    undos = CompensationRun.objects.filter(run_id=run)
    assert types.count("compensation.started") == len(undos) == 2
    assert types.count("compensation.completed") == 2
    assert types[-1] == "flow.failed"


def test_closing_twice_is_refused() -> None:
    run = run_in(F.CANCELLING)
    claim = claim_on(run)
    assert rollback.close(claim) is F.CANCELLED
    before = dump()
    with pytest.raises(Refused):
        rollback.close(claim)
    assert changes(before, dump()) == {}

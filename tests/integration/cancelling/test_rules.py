"""What `cancelling` forbids: each rule of docs/statuses.md by its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from saga_flow import client, jobs, sweeps
from saga_flow.engine import drive, ending, perform, planning
from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowSignal,
    SideEffect,
)
from saga_flow.records import Answer, Outcome, Request, StepFacts, Target, Wake, Wanted
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import claims, dialect, history, outcomes, undos, workers
from tests.support import parcels, seeding
from tests.support.engine_tables import (
    changes,
    check_journal,
    check_standing,
    dump,
)
from tests.support.parcels import Delivery, Labelled, during, ran

pytestmark = pytest.mark.django_db(transaction=True)

P1 = Target(instance_id="p1")


def compensate(reason: str = "") -> Answer:
    return client.compensate(P1, Request(reason=reason))


def deliver(*, wait: bool = False, fail: bool = False) -> UUID:
    handle = Delivery.using(instance_id="p1").run_sync("p1", wait=wait, fail=fail)
    return handle.run_id


def status(run: UUID) -> str:
    return FlowRun.objects.values_list("status", flat=True).get(pk=run)


def run_of_p1() -> FlowRun:
    return FlowRun.objects.get(instance_id="p1")


def rolling_back() -> UUID:
    """A run that has done two undoable steps, waits, and is told to roll back."""
    run = deliver(wait=True)
    assert compensate().accepted
    assert status(run) == FlowStatus.CANCELLING
    ran.clear()
    parcels.handled.clear()
    return run


def queued_step(run: FlowRun, sequence: int) -> ActionRun:
    return seeding.step(
        run,
        sequence,
        name="parcel.ship",
        status=ActionStatus.PENDING,
        attempt=0,
        queued=True,
        arguments='{"args":["p1"],"kwargs":{}}',
        available_at=run.created_at,
    )


# ---- 1. No step starts.


def test_rule_1_no_step_starts_under_cancelling() -> None:
    """The pass that was in a body when the rollback began starts nothing more."""
    during("charge", compensate)
    run = deliver()
    assert ran[:2] == ["reserve", "charge"]
    assert "ship" not in ran
    client.drive(run)
    assert status(run) == FlowStatus.CANCELLED
    assert "ship" not in ran


def test_rule_1_a_queued_step_is_refused_its_claim(sent: list[Wake]) -> None:
    run = rolling_back()
    step = queued_step(FlowRun.objects.get(pk=run), 3)
    before = dump()
    assert claims.claim_step(step.pk, workers.ensure()) is None
    perform.perform(step.pk)
    assert changes(before, dump()) == {}
    assert ran == []


@pytest.mark.parametrize(
    "unwelcome", sorted(set(FlowStatus) - FlowStatus.may_start_work())
)
def test_guarantee_4_a_queued_step_starts_only_where_work_may(
    unwelcome: FlowStatus,
) -> None:
    step = queued_step(seeding.run("p1", status=unwelcome), 0)
    before = dump()
    assert claims.claim_step(step.pk, workers.ensure()) is None
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("welcome", sorted(FlowStatus.may_start_work()))
def test_a_queued_step_starts_where_work_may(welcome: FlowStatus) -> None:
    step = queued_step(seeding.run("p1", status=welcome), 0)
    assert claims.claim_step(step.pk, workers.ensure()) is not None
    step.refresh_from_db()
    assert (step.status, step.attempt) == (ActionStatus.RUNNING, 1)


def test_rule_1_no_side_effect_is_made() -> None:
    during("reserve", compensate)
    run = Labelled.using(instance_id="p1").run_sync("p1").run_id
    client.drive(run)
    assert ran == ["reserve", "undo:reserve"]
    assert not SideEffect.objects.exists()


def test_rule_1_the_look_before_a_side_effect_is_no_lock() -> None:
    """A rollback that begins inside the factory: it ran, its value is not kept."""
    during("label", compensate)
    run = Labelled.using(instance_id="p1").run_sync("p1").run_id
    client.drive(run)
    assert ran == ["reserve", "label", "undo:reserve"]
    assert not SideEffect.objects.exists()
    assert status(run) == FlowStatus.CANCELLED


@pytest.mark.parametrize("sweep", sorted(sweeps.REGISTERED))
def test_rule_1_no_sweep_sends_a_replacement(sweep: str, sent: list[Wake]) -> None:
    run = rolling_back()
    queued_step(FlowRun.objects.get(pk=run), 3)
    FlowRun.objects.update(hint_at=None)
    sent.clear()
    sweeps.run(sweep)
    assert [wake for wake in sent if wake.kind is Wanted.PERFORM] == []


def test_rule_1_a_repair_sends_no_step(sent: list[Wake]) -> None:
    """Without the look at the status, the repair hints at every pending step."""
    run = rolling_back()
    queued_step(FlowRun.objects.get(pk=run), 3)
    sent.clear()
    assert client.repair(P1, Request()).outcome == "repair_dispatched"
    assert [wake.kind for wake in sent] == [Wanted.DRIVE]


# ---- 2. No pass is entered.


def test_rule_2_a_redelivered_job_ends_without_handle() -> None:
    run = rolling_back()
    jobs.drive(str(run))
    jobs.drive(str(run))
    assert parcels.handled == []
    assert ran == ["undo:charge", "undo:reserve"]
    assert status(run) == FlowStatus.CANCELLED


def test_rule_2_a_resume_queued_while_the_run_waited(sent: list[Wake]) -> None:
    run = deliver(wait=True)
    sent.clear()
    assert client.signal(P1, "go", '"now"', Request()).accepted
    (queued,) = sent
    assert compensate().accepted
    ran.clear()
    parcels.handled.clear()
    jobs.execute(queued)
    assert parcels.handled == []
    assert ran == ["undo:charge", "undo:reserve"]
    assert status(run) == FlowStatus.CANCELLED
    # what was delivered before the rollback stays, unread for good
    assert FlowSignal.objects.get(name="go", sequence=None).status == "received"


def test_rule_2_a_kick_ends_without_handle() -> None:
    run = rolling_back()
    answer = client.repair(P1, Request())
    assert answer.accepted
    assert answer.run_id == run
    client.drive(run)
    assert parcels.handled == []
    assert status(run) == FlowStatus.CANCELLED


def test_rule_2_a_kick_of_a_driven_rollback_writes_no_line() -> None:
    run = rolling_back()
    assert claims.claim_rollback(run, workers.ensure()) is not None
    before = dump()
    assert client.repair(P1, Request()).outcome == "repair_not_needed"
    found = changes(before, dump())
    assert set(found) == {"FlowCommand"}
    assert len(found["FlowCommand"]["added"]) == 1


def test_rule_2_the_status_is_decided_before_the_deadline() -> None:
    """An overdue run that already rolls back is not expired over it."""
    run = rolling_back()
    FlowRun.objects.update(expires_at=dialect.read_now() - timedelta(seconds=1))
    drive.drive(run)
    assert status(run) == FlowStatus.CANCELLED
    assert FlowEvent.objects.filter(type="flow.deadline_passed").count() == 0


def test_rule_2_an_overdue_run_expires_once_and_is_undone_once() -> None:
    run = deliver(wait=True)
    ran.clear()
    FlowRun.objects.update(expires_at=dialect.read_now() - timedelta(seconds=1))
    sweeps.run("deadlines")
    sweeps.run("deadlines")
    drive.drive(run)
    drive.drive(run)
    assert ran == ["undo:charge", "undo:reserve"]
    assert status(run) == FlowStatus.EXPIRED
    assert check_journal(run).count("flow.deadline_passed") == 1


@pytest.mark.parametrize("closed", sorted(FlowStatus.terminal()))
def test_rule_2_a_late_job_for_a_closed_run_changes_nothing(closed: FlowStatus) -> None:
    run = seeding.run("p1", status=closed, wake_at=None)
    before = dump()
    jobs.drive(str(run.pk))
    assert changes(before, dump()) == {}


# ---- 3. It takes no signal.


@pytest.mark.parametrize(
    ("under", "said"),
    [
        (FlowStatus.CANCELLING, "rolling back"),
        *((status, "closed") for status in sorted(FlowStatus.terminal())),
    ],
)
def test_rule_3_it_takes_no_signal(
    under: FlowStatus, said: str, sent: list[Wake]
) -> None:
    seeding.run("p1", status=under)
    before = dump()
    answer = client.signal(P1, "go", '"now"', Request())
    assert (answer.outcome, answer.rejection_reason) == (
        "rejected_not_active",
        "run_not_active",
    )
    assert said in answer.message
    found = changes(before, dump())
    assert set(found) == {"FlowCommand"}
    assert set(found["FlowCommand"]) == {"added"}
    assert sent == []


# ---- 4. What already started is settled as usual.


def test_rule_4_a_step_in_flight_records_its_outcome_and_joins_the_plan() -> None:
    """Without the join, charge stands under a run that says it is fully undone."""
    during("charge", compensate)
    run = deliver()
    charged = ActionRun.objects.get(run_id=run, sequence=1)
    assert charged.status == ActionStatus.COMPLETED
    assert charged.result is not None
    assert [u.sequence for u in undos_of(run)] == [1, 0]
    client.drive(run)
    assert ran == ["reserve", "charge", "undo:charge", "undo:reserve"]
    row = run_of_p1()
    assert (row.status, row.compensation_state) == ("cancelled", "completed")
    told = check_journal(run)
    assert told.count("rollback.plan_extended") == 1


def undos_of(run: UUID) -> list[CompensationRun]:
    return list(CompensationRun.objects.filter(run_id=run).order_by("level", "order"))


def test_rule_4_the_rollback_waits_for_a_step_in_flight() -> None:
    """A driver that comes while the body runs parks, and undoes nothing yet."""

    def roll_back_now() -> None:
        compensate()
        drive.drive(run_of_p1().pk)
        assert ran == ["reserve", "charge"]
        row = run_of_p1()
        assert row.status == FlowStatus.CANCELLING
        assert "step 1 (parcel.charge)" in row.wait_reason
        check_standing(row.pk)

    during("charge", roll_back_now)
    run = deliver()
    assert ran == ["reserve", "charge", "undo:charge", "undo:reserve"]
    assert status(run) == FlowStatus.CANCELLED


def test_rule_4_a_step_in_flight_that_fails_is_recorded_and_not_undone() -> None:
    during("decline", compensate)
    run = deliver(fail=True)
    client.drive(run)
    failed = ActionRun.objects.get(run_id=run, sequence=2)
    assert failed.status == ActionStatus.FAILED
    assert ran == ["reserve", "charge", "decline", "undo:charge", "undo:reserve"]
    row = run_of_p1()
    assert (row.status, row.compensation_state) == ("cancelled", "completed")


def test_rule_4_an_undo_that_began_is_finished_by_its_rollback() -> None:
    run = rolling_back()
    client.drive(run)
    assert [u.status for u in undos_of(run)] == ["completed", "completed"]
    assert [u.attempt for u in undos_of(run)] == [1, 1]


# ---- 5. The plan that is acted upon is made under cancelling.


def lose_the_undo_of(run: UUID, sequence: int) -> None:
    rows = ActionRun.objects.filter(run_id=run, sequence=sequence)
    assert rows.update(undo_name="parcel.gone") == 1


def test_rule_5_an_unplannable_run_is_left_where_it_was_found(
    sent: list[Wake],
) -> None:
    run = deliver(wait=True)
    lose_the_undo_of(run, 0)
    before, wakes = dump(), list(sent)
    answer = compensate()
    assert answer.outcome == "rejected_not_plannable"
    assert "parcel.gone" in answer.message
    found = changes(before, dump())
    assert set(found) == {"FlowCommand"}
    assert sent == wakes


def test_rule_5_an_overdue_run_that_is_unplannable_is_only_held_off() -> None:
    run = deliver(wait=True)
    lose_the_undo_of(run, 0)
    FlowRun.objects.update(expires_at=dialect.read_now() - timedelta(seconds=1))
    before = dump()
    assert ending.expire(run) is None
    after = dump()
    assert set(changes(before, after)) == {"FlowRun"}
    old, new = before["FlowRun"][run], after["FlowRun"][run]
    assert {name for name in old if old[name] != new[name]} == {
        "holds",
        "hold_until",
        "last_error",
    }


def test_rule_5_a_failing_pass_that_is_unplannable_gives_the_run_back() -> None:
    """The outcome in hand is recorded, the failure is not, and the run is due again."""
    run = deliver(wait=True, fail=True)
    lose_the_undo_of(run, 0)
    client.signal(P1, "go", '"now"', Request())
    drive.drive(run)
    row = run_of_p1()
    assert (row.status, row.closing_as) == ("waiting", None)
    assert row.wake_at == row.hold_until
    assert "parcel.gone" in row.last_error
    declined = ActionRun.objects.get(run_id=run, sequence=3)
    assert declined.status == ActionStatus.FAILED
    assert not CompensationRun.objects.exists()
    check_journal(run)
    # with the undo back, the same run goes on from there and rolls back
    ActionRun.objects.filter(sequence=0).update(undo_name="parcel.unreserve")
    FlowRun.objects.update(wake_at=row.created_at, hold_until=None)
    drive.drive(run)
    assert status(run) == FlowStatus.FAILED
    assert ran.count("decline") == 1
    assert ran[-2:] == ["undo:charge", "undo:reserve"]


def test_rule_5_a_step_that_completes_while_the_first_plan_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second reading, under the run's lock, has it; the first one could not."""
    real: Callable[..., Any] = planning.plan

    def plan_then_complete(steps: Sequence[StepFacts], **known: Any) -> Any:
        drawn = real(steps, **known)
        assert [plan.sequence for plan in drawn] == [0]
        step = history.step(run_of_p1().pk, 1)
        held = Outcome(
            sequence=1,
            name=step.name,
            attempt=step.attempt,
            token=step.token,
            status=ActionStatus.COMPLETED,
            result='"charge-p1"',
            has_undo=True,
        )
        assert outcomes.record(run_of_p1().pk, held, planning.planner(None))
        return drawn

    def roll_back() -> None:
        monkeypatch.setattr(planning, "plan", plan_then_complete)
        assert compensate().accepted
        monkeypatch.setattr(planning, "plan", real)

    during("charge", roll_back)
    run = deliver()
    assert [u.sequence for u in undos_of(run)] == [1, 0]
    assert "rollback.plan_extended" not in check_journal(run)
    client.drive(run)
    assert ran == ["reserve", "charge", "undo:charge", "undo:reserve"]


def test_rule_5_what_the_second_plan_lacks_is_restored_from_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = deliver(wait=True)
    ran.clear()
    asked: list[int] = []
    real = planning.plan_one

    def forgetful(step: StepFacts, kept: str | None) -> Any:
        asked.append(step.sequence)
        if step.sequence == 1 and asked.count(1) == 2:
            raise LookupError("gone between the two readings")
        return real(step, kept)

    monkeypatch.setattr(planning, "plan_one", forgetful)
    assert compensate().accepted
    told = FlowEvent.objects.get(run_id=run, type="rollback.replan_incomplete")
    assert told.data == '{"ordinals":[1]}'
    client.drive(run)
    assert ran == ["undo:charge", "undo:reserve"]
    check_journal(run)


def test_rule_5_if_the_second_reading_fails_the_first_plan_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = deliver(wait=True)
    ran.clear()

    def unreadable(run: UUID) -> Any:
        raise LookupError("unreadable")

    with monkeypatch.context() as second_reading:
        second_reading.setattr(undos, "history", SimpleNamespace(steps=unreadable))
        assert compensate().accepted
    assert "rollback.replan_failed" in check_journal(run)
    assert [u.sequence for u in undos_of(run)] == [1, 0]
    client.drive(run)
    assert ran == ["undo:charge", "undo:reserve"]


def test_rule_5_the_plan_is_only_ever_extended() -> None:
    """A late completion joins at the head; rows that were there stay as they were."""
    rows: list[CompensationRun] = []

    def roll_back() -> None:
        compensate()
        rows.extend(undos_of(run_of_p1().pk))

    during("charge", roll_back)
    run = deliver()
    head, *rest = undos_of(run)
    assert head.sequence == 1
    names = ("id", "sequence", "order", "level", "name", "arguments", "policy")
    for old, new in zip(rows, rest, strict=True):
        assert all(getattr(old, n) == getattr(new, n) for n in names)


def test_rule_5_a_plan_that_can_not_be_extended_leaves_the_step_in_doubt() -> None:
    def roll_back() -> None:
        compensate()
        lose_the_undo_of(run_of_p1().pk, 1)

    during("charge", roll_back)
    run = deliver()
    charged = ActionRun.objects.get(run_id=run, sequence=1)
    assert (charged.status, charged.in_doubt) == ("completed", True)
    assert "rollback.not_extended" in check_journal(run)
    client.drive(run)
    row = run_of_p1()
    assert (row.status, row.compensation_state) == ("cancelled", "failed")


# ---- 6. cancel and compensate do not stop it.

ASKS: dict[str, Callable[[], Answer]] = {
    "cancel": lambda: client.cancel(P1, Request()),
    "compensate": lambda: client.compensate(P1, Request()),
    "interrupt": lambda: client.interrupt(P1, Request()),
    "resume": lambda: client.resume(P1, None, Request()),
    "signal": lambda: client.signal(P1, "go", "null", Request()),
    "archive": lambda: client.archive(P1, Request()),
}
UNDER_A_ROLLBACK = [
    ("cancel", "cancelled", "cancelled"),
    ("compensate", "cancelled", "compensating"),
    ("cancel", "failed", "rejected_conflict"),
    ("compensate", "failed", "rejected_conflict"),
    ("cancel", "expired", "rejected_conflict"),
    ("compensate", "expired", "rejected_conflict"),
    ("interrupt", "cancelled", "rejected_not_active"),
    ("resume", "cancelled", "rejected_not_active"),
    ("signal", "cancelled", "rejected_not_active"),
    ("archive", "cancelled", "rejected_run_not_closed"),
]


@pytest.mark.parametrize(("command", "closing_as", "outcome"), UNDER_A_ROLLBACK)
def test_rule_6_no_command_but_terminate_stops_it(
    command: str, closing_as: str, outcome: str, sent: list[Wake]
) -> None:
    seeding.run("p1", status=FlowStatus.CANCELLING, closing_as=closing_as)
    before = dump()
    answer = ASKS[command]()
    assert answer.outcome == outcome
    assert answer.accepted is not outcome.startswith("rejected")
    found = changes(before, dump())
    assert set(found) == {"FlowCommand"}
    assert answer.command_id is not None
    row = FlowCommand.objects.get(pk=answer.command_id)
    assert row.status == ("accepted" if answer.accepted else "rejected")
    assert sent == []


def test_rule_6_terminate_ends_it_and_says_what_stays_undone() -> None:
    run = rolling_back()
    answer = client.terminate(P1, Request(reason="enough"))
    assert answer.accepted
    assert status(run) == FlowStatus.TERMINATED
    drive.drive(run)
    assert ran == []
    assert [u.status for u in undos_of(run)] == ["pending", "pending"]
    row = run_of_p1()
    assert row.compensation_state == "failed"
    assert row.error is not None
    assert "CompensationUnfinished" in row.error
    check_journal(run)


def test_rule_6_the_deadline_sweep_passes_over_it() -> None:
    run = rolling_back()
    FlowRun.objects.update(expires_at=dialect.read_now() - timedelta(seconds=1))
    before = dump()
    sweeps.run("deadlines")
    assert ending.expire(run) is None
    assert changes(before, dump()) == {}

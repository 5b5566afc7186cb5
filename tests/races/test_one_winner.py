"""Who comes first wins, the others change nothing, and nothing is left stuck."""

# ruff: noqa: B023 - each race has ended before its round does
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

import pytest

from saga_flow import client
from saga_flow.engine import drive, ending, planning
from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowCommand,
    FlowRun,
    FlowSignal,
)
from saga_flow.queries import snapshot
from saga_flow.records import (
    Claim,
    Duplicate,
    Gathered,
    Outcome,
    Request,
    StartOrder,
    Target,
    Wait,
)
from saga_flow.states import OPEN, ActionStatus, FlowStatus
from saga_flow.store import claims, commands, history, outcomes, passes, undoing
from saga_flow.store.command_rows import Command
from saga_flow.store.transaction import Refused
from tests.support import parcels
from tests.support.engine_tables import check_journal, check_standing, check_unread
from tests.support.parcels import Delivery, ran
from tests.support.races import none_raised, rounds, together
from tests.support.standings import claim_on, overdue, run_in, stranger

pytestmark = pytest.mark.django_db(transaction=True)

P1 = Target(instance_id="p1")
WAIT = Wait(wake_at=None, kind="signal", name="go", reason="waiting")


def afresh() -> None:
    """Begin another round with nothing there."""
    FlowCommand.objects.all().delete()
    FlowRun.objects.all().delete()
    parcels.forget()


def row() -> FlowRun:
    return FlowRun.objects.get(instance_id="p1")


def lost(act: Callable[[], object]) -> bool:
    """Whether a guarded write was refused."""
    try:
        act()
    except Refused:
        return True
    return False


def check(run: UUID) -> FlowStatus:
    """What must hold after any race."""
    check_journal(run)
    check_unread(run)
    return check_standing(run)


def finish(run: UUID) -> FlowStatus:
    """Drive the run as a worker that was hinted at it would; where it ends up."""
    check(run)
    client.drive(run)
    return check(run)


def in_flight(run: FlowRun, *, undo: bool = True) -> Outcome:
    """A step in its body under the run's lease, and its successful outcome."""
    step = ActionRun.objects.create(
        run=run,
        sequence=1,
        name="parcel.charge",
        status=ActionStatus.RUNNING,
        attempt=1,
        token=run.lease_epoch,
        worker=run.lease_owner,
        undo_name="parcel.refund" if undo else "",
        undo_arguments='{"args":["charge-p1"],"kwargs":{}}' if undo else None,
        created_at=run.created_at,
    )
    FlowRun.objects.filter(pk=run.pk).update(position=2)
    return Outcome(
        sequence=1,
        name=step.name,
        attempt=1,
        token=step.token,
        status=ActionStatus.COMPLETED,
        result='"charge-p1"',
        has_undo=undo,
    )


def held(outcome: Outcome) -> Gathered:
    return Gathered(held=outcome)


@pytest.mark.covers("LR-3")
def test_of_many_claims_of_one_run_one_wins() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING)
        owners = [stranger() for _ in range(6)]
        found = together(*(partial(claims.claim_pass, run.pk, one) for one in owners))
        none_raised(found)
        (winner,) = [claim for claim in found if claim is not None]
        now = row()
        assert (now.lease_owner, now.lease_epoch) == (winner.owner, winner.epoch)
        assert winner.epoch == run.lease_epoch + 1
        check(run.pk)


def test_of_many_take_overs_of_a_rollback_one_wins() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.CANCELLING, held=False)
        owners = [stranger() for _ in range(6)]
        found = together(
            *(partial(claims.claim_rollback, run.pk, one) for one in owners)
        )
        none_raised(found)
        assert sum(claim is not None for claim in found) == 1
        check(run.pk)


def test_of_many_claims_of_a_queued_step_one_wins() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING)
        step = ActionRun.objects.create(
            run=run,
            sequence=1,
            name="parcel.ship",
            status=ActionStatus.PENDING,
            queued=True,
            available_at=run.created_at,
            created_at=run.created_at,
        )
        owners = [stranger() for _ in range(6)]
        found = together(*(partial(claims.claim_step, step.pk, one) for one in owners))
        none_raised(found)
        assert sum(claim is not None for claim in found) == 1
        step.refresh_from_db()
        assert step.attempt == 1
        check(run.pk)


def test_complete_against_cancel() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING)
        claim = claim_on(run)
        refused, answer = together(
            lambda: lost(lambda: passes.complete(claim, Gathered(), "null", 1)),
            lambda: client.cancel(P1, Request()),
        )
        none_raised([refused, answer])
        now = row()
        if refused:
            assert (now.status, answer.accepted) == ("cancelled", True)
        else:
            assert (now.status, now.result) == ("completed", "null")
            assert answer.outcome == "rejected_not_active"
            assert "completed_before_cancel" in answer.message
        assert now.revision == run.revision + 1
        check(run.pk)


def test_a_step_outcome_against_a_rollback() -> None:
    """Whichever is first, the completed step is in the plan and is undone."""
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING)
        claim, outcome = claim_on(run), in_flight(run)

        def commit(claim: Claim = claim, outcome: Outcome = outcome) -> None:
            try:
                passes.suspend(claim, held(outcome), WAIT, 2)
            except Refused:
                assert outcomes.record(claim.run, outcome, planning.planner(None))

        found = together(commit, lambda: client.compensate(P1, Request()))
        none_raised(found)
        assert found[1].accepted
        undos = CompensationRun.objects.filter(run=run).order_by("level")
        assert [undo.sequence for undo in undos] == [1, 0]
        assert finish(run.pk) is FlowStatus.CANCELLED
        assert ran == ["undo:charge", "undo:reserve"]
        assert row().compensation_state == "completed"


def test_a_step_outcome_against_cancel() -> None:
    """Recorded before, or refused, journalled and listed after; never lost."""
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING)
        outcome = in_flight(run)
        recorded, answer = together(
            lambda: outcomes.record(run.pk, outcome, planning.planner(None)),
            lambda: client.cancel(P1, Request()),
        )
        none_raised([recorded, answer])
        step = ActionRun.objects.get(run=run, sequence=1)
        told = check_journal(run.pk)
        if recorded:
            assert (step.status, step.result) == ("completed", outcome.result)
            assert row().attention == ""
        else:
            assert (step.status, step.in_doubt) == ("cancelled", True)
            assert row().attention == "outcome_rejected"
        assert told.count("action.outcome_rejected") == int(not recorded)
        assert check(run.pk) is FlowStatus.CANCELLED


@pytest.mark.covers("N-21")
def test_a_signal_against_a_suspension_is_no_lost_wake_up() -> None:
    """Without the inbox in the guard the run sleeps over its delivery for good."""
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING)
        claim = claim_on(run)
        refused, answer = together(
            lambda: lost(lambda: passes.suspend(claim, Gathered(), WAIT, 1)),
            lambda: client.signal(P1, "go", '"now"', Request()),
        )
        none_raised([refused, answer])
        assert answer.accepted
        now = row()
        if refused:
            assert (now.status, now.lease_epoch) == ("running", claim.epoch)
        else:
            assert (now.status, now.wake_at is not None) == ("waiting", True)
        check(run.pk)


def test_a_signal_against_a_whole_pass_is_consumed() -> None:
    for _ in rounds():
        afresh()
        order = Delivery.using(instance_id="p1").start("p1")
        run = order.run_id
        found = together(
            lambda: drive.drive(run),
            lambda: client.signal(P1, "go", '"now"', Request()),
        )
        none_raised(found)
        assert finish(run) is FlowStatus.COMPLETED
        assert ran == ["reserve", "charge", "ship"]
        delivery = FlowSignal.objects.get(run_id=run, payload='"now"')
        assert delivery.status == "consumed"


def test_many_signals_against_the_passes_that_take_them() -> None:
    for _ in rounds():
        afresh()
        run = Delivery.using(instance_id="p1").start("p1").run_id
        senders = [
            partial(client.signal, P1, "go", f'"{number}"', Request())
            for number in range(4)
        ]
        found = together(lambda: drive.drive(run), *senders)
        none_raised(found)
        assert finish(run) is FlowStatus.COMPLETED
        accepted = sum(answer.accepted for answer in found[1:])
        rows = FlowSignal.objects.filter(run_id=run, received_seq__isnull=False)
        assert rows.count() == accepted
        assert rows.filter(status="consumed").count() == 1
        first = rows.order_by("received_seq").first()
        assert first is not None
        assert first.status == "consumed"


def test_two_drivers_of_one_rollback_undo_each_step_once() -> None:
    for _ in rounds():
        afresh()
        run = Delivery.using(instance_id="p1").run_sync("p1").run_id
        assert client.compensate(P1, Request()).accepted
        ran.clear()
        none_raised(together(*[partial(drive.drive, run)] * 4))
        assert finish(run) is FlowStatus.CANCELLED
        assert ran == ["undo:charge", "undo:reserve"]
        undos = CompensationRun.objects.filter(run_id=run)
        assert {(undo.status, undo.attempt) for undo in undos} == {("completed", 1)}


def test_two_drivers_of_one_pass_run_each_body_once() -> None:
    for _ in rounds():
        afresh()
        run = Delivery.using(instance_id="p1").start("p1", wait=False).run_id
        none_raised(together(*[partial(drive.drive, run)] * 4))
        assert finish(run) is FlowStatus.COMPLETED
        assert ran == ["reserve", "charge", "ship"]


def test_terminate_against_an_undo_in_flight() -> None:
    """The undo's outcome is recorded either way, and the run says what is left."""
    for _ in rounds():
        afresh()
        run = Delivery.using(instance_id="p1").run_sync("p1").run_id
        client.compensate(P1, Request())
        claim = claims.claim_rollback(run, stranger())
        assert claim is not None
        undo = undoing.start(claim, history.undos(run)[0])
        outcome = Outcome(
            sequence=undo.sequence,
            name=undo.name,
            attempt=undo.attempt,
            token=undo.token,
            status=ActionStatus.COMPLETED,
        )
        recorded, answer = together(
            partial(undoing.settle, run, undo, outcome),
            lambda: client.terminate(P1, Request()),
        )
        none_raised([recorded, answer])
        assert recorded
        assert answer.accepted
        undos = CompensationRun.objects.filter(run_id=run).order_by("level")
        assert [each.status for each in undos] == ["completed", "pending"]
        now = row()
        assert (now.status, now.compensation_state) == ("terminated", "failed")
        assert '"left":[0]' in (now.error or "")
        assert check(run) is FlowStatus.TERMINATED


def test_terminate_against_the_last_undo_in_flight() -> None:
    """Once all is undone after all, the error no longer says that something is left."""
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING)
        client.compensate(P1, Request())
        claim = claims.claim_rollback(run.pk, stranger())
        assert claim is not None
        undo = undoing.start(claim, history.undos(run.pk)[0])
        outcome = Outcome(
            sequence=undo.sequence,
            name=undo.name,
            attempt=undo.attempt,
            token=undo.token,
            status=ActionStatus.COMPLETED,
        )
        none_raised(
            together(
                partial(undoing.settle, run.pk, undo, outcome),
                lambda: client.terminate(P1, Request()),
            )
        )
        now = row()
        assert (now.status, now.compensation_state) == ("terminated", "completed")
        assert (now.error, now.attention) == (None, "")
        assert check(run.pk) is FlowStatus.TERMINATED


@pytest.mark.covers("D-START-10")
def test_starts_of_one_instance_id_make_one_run() -> None:
    for number in rounds():
        afresh()
        policy = (Duplicate.REJECT, Duplicate.RETURN_EXISTING)[number % 2]
        order = StartOrder(
            workflow_name="parcel.delivery",
            arguments='{"args":["p1"],"kwargs":{}}',
            instance_id="p1",
            on_duplicate=policy,
        )
        found = together(*[partial(client.start, order, Request())] * 5)
        none_raised(found)
        run = row()
        outcomes_ = sorted(answer.outcome for answer in found)
        second = {
            Duplicate.REJECT: "rejected_duplicate",
            Duplicate.RETURN_EXISTING: "returned_existing_active",
        }[policy]
        assert outcomes_ == sorted([second] * 4 + ["started_new"])
        assert {answer.run_id for answer in found} == {run.pk}
        assert check(run.pk) is FlowStatus.PENDING


def test_starts_after_a_closed_run_make_one_successor() -> None:
    for _ in rounds():
        afresh()
        run_in(FlowStatus.COMPLETED)
        order = StartOrder(
            workflow_name="parcel.delivery",
            arguments='{"args":["p1"],"kwargs":{}}',
            instance_id="p1",
            on_duplicate=Duplicate.ALLOW_AFTER_CLOSED,
        )
        found = together(*[partial(client.start, order, Request())] * 4)
        none_raised(found)
        assert sum(answer.outcome == "started_new" for answer in found) == 1
        assert FlowRun.objects.filter(instance_id="p1").count() == 2
        assert FlowRun.objects.get(is_current=True).run_number == 2


@pytest.mark.covers("LR-7")
def test_starts_under_one_idempotency_key_make_one_run() -> None:
    for _ in rounds():
        afresh()
        order = StartOrder(
            workflow_name="parcel.delivery",
            arguments='{"args":["p1"],"kwargs":{}}',
            instance_id="p1",
        )
        request = Request(idempotency_key="once")
        found = together(*[partial(client.start, order, request)] * 5)
        none_raised(found)
        run = row()
        assert {answer.outcome for answer in found} == {"started_new"}
        assert {answer.run_id for answer in found} == {run.pk}
        assert sum(not answer.idempotent for answer in found) == 1
        assert FlowCommand.objects.count() == 1
        check(run.pk)


def test_starts_of_one_reservation_start_it_once() -> None:
    for _ in rounds():
        afresh()
        reserved = StartOrder(
            workflow_name="parcel.delivery", arguments=None, instance_id="p1"
        )
        client.start(reserved, Request())
        order = StartOrder(
            workflow_name="parcel.delivery",
            arguments='{"args":["p1"],"kwargs":{}}',
            instance_id="p1",
        )
        found = together(*[partial(client.start, order, Request())] * 4)
        none_raised(found)
        outcomes_ = sorted(answer.outcome for answer in found)
        assert outcomes_ == ["rejected_duplicate"] * 3 + ["started_new"]
        assert check(row().pk) is FlowStatus.PENDING


def test_two_cancels_end_a_run_once() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING)
        found = together(*[partial(client.cancel, P1, Request())] * 4)
        none_raised(found)
        assert {answer.outcome for answer in found} == {"cancelled"}
        assert sum(not answer.idempotent for answer in found) == 1
        assert row().revision == run.revision + 1
        assert check_journal(run.pk).count("flow.cancelled") == 1
        assert check(run.pk) is FlowStatus.CANCELLED


def test_cancel_against_compensate() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING)
        cancelled, compensated = together(
            lambda: client.cancel(P1, Request()),
            lambda: client.compensate(P1, Request()),
        )
        none_raised([cancelled, compensated])
        assert cancelled.accepted
        end = finish(run.pk)
        assert end is FlowStatus.CANCELLED
        assert ran == (["undo:reserve"] if compensated.accepted else [])


@pytest.mark.covers("LR-3")
def test_of_many_decisions_on_one_revision_one_wins() -> None:
    """The guard itself: the client's own look before it is left out."""
    writes = (
        commands.cancel,
        commands.terminate,
        commands.interrupt,
        ending.compensate,
    )
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING, revision=5)
        seen = snapshot(P1)
        request = Request(expected_revision=5)

        def act(write: Callable[..., object]) -> bool:
            asked = Command(
                type="decide", target=P1, request=request, outcome=write.__name__
            )
            return not lost(lambda: write(asked, seen))

        won = together(*(partial(act, write) for write in writes))
        none_raised(won)
        assert sum(won) == 1
        now = row()
        assert now.revision == 6
        wanted = ("cancelled", "terminated", "interrupted", "cancelling")
        assert now.status == wanted[won.index(True)]
        assert FlowCommand.objects.get().outcome == writes[won.index(True)].__name__
        check(run.pk)


def test_expire_against_a_step_outcome() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING, **overdue())
        outcome = in_flight(run)
        recorded, entered = together(
            lambda: outcomes.record(run.pk, outcome, planning.planner(None)),
            lambda: ending.expire(run.pk),
        )
        none_raised([recorded, entered])
        assert recorded
        assert entered
        assert finish(run.pk) is FlowStatus.EXPIRED
        assert ran == ["undo:charge", "undo:reserve"]
        assert row().compensation_state == "completed"


def test_many_expiries_of_one_run_end_it_once() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.WAITING, **overdue())
        found = together(*[partial(ending.expire, run.pk)] * 4)
        none_raised(found)
        assert found.count(FlowStatus.CANCELLING) == 1
        assert found.count(None) == 3
        assert finish(run.pk) is FlowStatus.EXPIRED
        assert ran == ["undo:reserve"]


def test_interrupt_against_a_suspension() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.RUNNING)
        claim = claim_on(run)
        refused, answer = together(
            lambda: lost(lambda: passes.suspend(claim, Gathered(), WAIT, 1)),
            lambda: client.interrupt(P1, Request()),
        )
        none_raised([refused, answer])
        assert answer.accepted
        now = row()
        assert (now.status, now.intent) == (
            ("running", "interrupt") if refused else ("interrupted", None)
        )
        check(run.pk)


@pytest.mark.covers("LR-32")
def test_of_many_resumes_one_goes_on() -> None:
    for _ in rounds():
        afresh()
        run = run_in(FlowStatus.INTERRUPTED)
        found = together(*[partial(client.resume, P1, None, Request())] * 6)
        none_raised(found)
        assert sum(answer.accepted for answer in found) == 1
        assert {a.outcome for a in found} == {"resumed", "rejected_not_interrupted"}
        assert row().revision == run.revision + 1
        check(run.pk)


def test_a_whole_run_against_everything_at_once() -> None:
    """Whatever comes between, it ends once, undone as often as done."""
    for _ in rounds():
        afresh()
        run = Delivery.using(instance_id="p1").start("p1").run_id
        found = together(
            lambda: drive.drive(run),
            lambda: drive.drive(run),
            lambda: client.signal(P1, "go", '"now"', Request()),
            lambda: client.interrupt(P1, Request()),
            lambda: client.resume(P1, None, Request()),
            lambda: client.compensate(P1, Request()),
        )
        none_raised(found)
        end = finish(run)
        if end in OPEN:
            assert end is FlowStatus.INTERRUPTED
            assert client.compensate(P1, Request()).accepted
            end = finish(run)
        assert end in {FlowStatus.CANCELLED, FlowStatus.COMPLETED}
        done = set(
            ActionRun.objects.filter(
                run_id=run, status="completed", undo_name__gt=""
            ).values_list("sequence", flat=True)
        )
        undone = set(
            CompensationRun.objects.filter(run_id=run, status="completed").values_list(
                "sequence", flat=True
            )
        )
        assert undone == (done if end is FlowStatus.CANCELLED else set())
        assert len(ran) == len(set(ran))

"""Undos of one level: a job for each, and nothing before its time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import override_settings

from saga_flow import NonRetryable, Workflow, action, client, current_step, jobs
from saga_flow.engine import drive
from saga_flow.models import ActionRun, CompensationRun, FlowRun, FlowTag
from saga_flow.records import Outcome, Request, Target, UndoFacts, Wake, Wanted
from saga_flow.states import ActionStatus
from saga_flow.store import claims, dialect, history, undoing, workers
from tests.support import parcels
from tests.support.engine_tables import check_journal, check_standing
from tests.support.parcels import Bundle, Delivery, ran
from tests.support.standings import stranger

pytestmark = pytest.mark.django_db(transaction=True)

P1 = Target(instance_id="p1")


def rolling_back(flow: type[Bundle] | type[Delivery] = Bundle) -> UUID:
    run: UUID = flow.using(instance_id="p1").run_sync("p1").run_id
    assert client.compensate(P1, Request()).accepted
    ran.clear()
    return run


def plan(run: UUID) -> dict[int, UndoFacts]:
    return {undo.sequence: undo for undo in history.undos(run)}


def statuses(run: UUID) -> dict[int, str]:
    return {sequence: undo.status.value for sequence, undo in plan(run).items()}


def row(run: UUID) -> FlowRun:
    return FlowRun.objects.get(pk=run)


def done(undo: UndoFacts) -> Outcome:
    return Outcome(
        sequence=undo.sequence,
        name=undo.name,
        attempt=undo.attempt,
        token=undo.token,
        status=ActionStatus.COMPLETED,
    )


def hinted(sent: list[Wake], kind: Wanted) -> list[str]:
    return [wake.id for wake in sent if wake.kind is kind]


def test_a_group_is_planned_as_one_level() -> None:
    run = rolling_back()

    steps = ActionRun.objects.filter(run=run).order_by("sequence")
    assert list(steps.values_list("block", "block_index")) == [
        (None, None),
        (1, 0),
        (1, 1),
    ]
    undos = CompensationRun.objects.filter(run=run).order_by("order")
    assert list(undos.values_list("sequence", "level")) == [(2, -1), (1, -1), (0, 0)]


def test_the_driver_sends_a_job_for_each_of_a_level_and_lets_go(
    sent: list[Wake],
) -> None:
    run = rolling_back()
    sent.clear()

    drive.drive(run)

    now = row(run)
    assert (now.rollback_level, now.lease_owner, ran) == (-1, None, [])
    undos = plan(run)
    assert hinted(sent, Wanted.UNDO) == [str(undos[2].id), str(undos[1].id)]
    check_standing(run)


def test_each_job_does_its_undo_and_the_last_one_drives_on(sent: list[Wake]) -> None:
    run = rolling_back()
    drive.drive(run)
    undos = plan(run)

    jobs.undo(str(undos[1].id))
    assert statuses(run) == {2: "pending", 1: "completed", 0: "pending"}
    jobs.undo(str(undos[2].id))

    assert ran == ["undo:charge", "undo:charge", "undo:reserve"]
    assert (row(run).status, row(run).compensation_state) == ("cancelled", "completed")
    check_journal(run)


def test_a_second_job_of_an_undo_does_nothing() -> None:
    run = rolling_back()
    drive.drive(run)
    undo = plan(run)[1]

    jobs.undo(str(undo.id))
    jobs.undo(str(undo.id))

    assert ran == ["undo:charge"]
    assert plan(run)[1].attempt == 1


@pytest.mark.parametrize("level", [1, 0, -2])
def test_a_job_of_another_level_than_the_rollback_s_claims_nothing(level: int) -> None:
    run = rolling_back()
    drive.drive(run)
    undo = plan(run)[1]
    FlowRun.objects.filter(pk=run).update(rollback_level=level)

    assert undoing.take(run, undo, stranger()) is None
    assert plan(run)[1] == undo


def test_no_undo_is_begun_by_a_job_before_its_driver_is_at_its_level() -> None:
    """Not even that of the last level, whose number is nought."""
    run = rolling_back()

    for undo in plan(run).values():
        jobs.undo(str(undo.id))

    assert ran == []


def test_a_job_claims_nothing_once_the_run_is_closed() -> None:
    run = rolling_back()
    drive.drive(run)
    client.terminate(P1, Request())

    assert undoing.take(run, plan(run)[1], stranger()) is None


def test_a_job_waits_for_the_time_of_the_next_try() -> None:
    run = rolling_back()
    drive.drive(run)
    later = dialect.read_now() + timedelta(hours=1)
    CompensationRun.objects.filter(run=run).update(available_at=later)

    assert undoing.take(run, plan(run)[1], stranger()) is None


def test_an_undo_whose_worker_lives_is_taken_by_nobody_and_a_dead_one_s_is() -> None:
    run = rolling_back()
    drive.drive(run)
    owner = stranger()
    taken = undoing.take(run, plan(run)[1], owner)
    assert taken is not None
    assert undoing.take(run, plan(run)[1], stranger()) is None

    workers.declare_lost(owner)

    again = undoing.take(run, plan(run)[1], stranger())
    assert again is not None
    assert (again.attempt, again.lost_attempts) == (2, 1)
    assert not undoing.settle_beside(run, taken, done(taken), here=False)
    assert plan(run)[1].status == "running"


def test_only_the_last_outcome_of_a_level_wakes_the_driver(sent: list[Wake]) -> None:
    run = rolling_back()
    drive.drive(run)
    taken = [undoing.take(run, plan(run)[n], stranger()) for n in (1, 2)]
    sent.clear()

    goes_on = [
        undoing.settle_beside(run, undo, done(undo), here=False)
        for undo in taken
        if undo is not None
    ]

    assert goes_on == [False, True]
    assert hinted(sent, Wanted.DRIVE) == [str(run)]
    wake_at = row(run).wake_at
    assert wake_at is not None
    assert wake_at <= dialect.read_now()


def test_an_outcome_that_comes_before_the_driver_parks_is_not_slept_over() -> None:
    """Row 33 names the inbox: the driver reads the plan again."""
    run = rolling_back()
    drive.drive(run)
    taken = [undoing.take(run, plan(run)[n], stranger()) for n in (1, 2)]
    assert taken[0] is not None
    undoing.settle_beside(run, taken[0], done(taken[0]), here=False)
    FlowRun.objects.filter(pk=run).update(wake_at=dialect.read_now())
    read = history.undos
    last = taken[1]

    def meanwhile(of: UUID) -> tuple[UndoFacts, ...]:
        nonlocal last
        found = read(of)
        if last is not None:
            undoing.settle_beside(run, last, done(last), here=False)
            last = None
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "undos", meanwhile)
        drive.drive(run)

    assert row(run).status == "cancelled"


def test_lost_jobs_are_sent_again_after_a_while(sent: list[Wake]) -> None:
    run = rolling_back()
    drive.drive(run)
    ago = dialect.read_now() - timedelta(seconds=30)
    FlowRun.objects.filter(pk=run).update(wake_at=ago)
    sent.clear()

    drive.drive(run)
    assert hinted(sent, Wanted.UNDO) == []

    CompensationRun.objects.filter(run=run).update(repair_at=ago)
    FlowRun.objects.filter(pk=run).update(wake_at=ago)
    drive.drive(run)
    assert len(hinted(sent, Wanted.UNDO)) == 2


def test_a_driver_whose_undo_a_job_has_begun_reads_the_plan_again() -> None:
    run = rolling_back(Delivery)
    claim = claims.claim_rollback(run, stranger())
    assert claim is not None
    undo = plan(run)[1]
    FlowRun.objects.filter(pk=run).update(rollback_level=undo.level, lease_owner=None)
    real = undoing.start

    def late(*args: object) -> UndoFacts:
        patch.undo()
        assert undoing.take(run, undo, stranger()) is not None
        return real(*args)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(undoing, "start", late)
        drive.drive(run)

    assert ran == []
    assert (row(run).status, row(run).lease_owner) == ("cancelling", None)
    assert "step 1 is running" in row(run).wait_reason


def test_a_driver_whose_slice_is_over_sends_a_job_for_itself(sent: list[Wake]) -> None:
    run = rolling_back(Delivery)
    sent.clear()

    with override_settings(SAGA_FLOW={"SLICE": timedelta()}):
        drive.drive(run)

    assert ran == ["undo:charge"]
    assert hinted(sent, Wanted.DRIVE) == [str(run)]
    assert (row(run).lease_owner, row(run).status) == (None, "cancelling")
    drive.drive(run)
    assert row(run).status == "cancelled"


def test_one_process_alone_does_all_of_a_level() -> None:
    run = rolling_back()

    client.drive(run)

    assert ran == ["undo:charge", "undo:charge", "undo:reserve"]
    assert row(run).status == "cancelled"


def test_an_atomic_undo_of_a_level_is_committed_with_its_outcome() -> None:
    """The last one drives on; one that fails leaves nothing of what it wrote."""

    @action(name="levels.note_atomically", atomic=True)
    def note(parcel: str) -> None:
        FlowTag.objects.create(run_id=current_step().run_id, key=parcel, value="x")
        if parcel == "bad":
            raise NonRetryable("no")

    @action(name="levels.nothing")
    def nothing() -> None: ...

    class Flow(Workflow):
        class Meta:
            name = "levels.flow"

        def handle(self) -> None:
            step = self.action(nothing)
            self.saga(
                step.compensate_with(note, "good"),
                step.compensate_with(note, "bad"),
                compensate_in_parallel=True,
            ).run()
            self.signal("go").wait()

    run = Flow.using(instance_id="p1").run_sync().run_id
    client.compensate(P1, Request())
    drive.drive(run)
    for undo in plan(run).values():
        jobs.undo(str(undo.id))

    assert statuses(run) == {0: "completed", 1: "failed"}
    assert list(FlowTag.objects.values_list("key", flat=True)) == ["good"]
    assert row(run).status == "cancelled"


def test_a_level_of_one_costs_no_job(sent: list[Wake]) -> None:
    parcels.forget()
    run = rolling_back(Delivery)
    sent.clear()

    drive.drive(run)

    assert sent == []
    assert row(run).status == "cancelled"

"""What is owned and not executed is given back, after two beats and no sooner."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from saga_flow import clock, holdings
from saga_flow.holdings import Holding
from saga_flow.models import ActionRun, CompensationRun, FlowRun, Worker
from saga_flow.pulse.heart import BEAT, Heart
from saga_flow.pulse.janitor import Janitor
from saga_flow.records import Wake, Wanted
from saga_flow.states import ActionStatus, FlowStatus, WorkerStatus
from saga_flow.store import release, workers
from tests.integration.pulse import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(time: clock.FakeClock) -> UUID:
    return workers.ensure()


def held_run(me: UUID, status: FlowStatus = FlowStatus.RUNNING) -> FlowRun:
    return rows.run(status, lease_owner=me, lease_epoch=4, wake_at=None)


def claim(run: FlowRun, epoch: int = 4) -> Holding:
    return Holding(kind="run", id=str(run.pk), token=epoch)


def test_a_run_nobody_drives_is_given_back_at_the_second_beat(
    me: UUID, sent: list[Wake]
) -> None:
    run = held_run(me)
    janitor = Janitor()

    assert janitor.look(me) == 0
    assert FlowRun.objects.get(pk=run.pk).lease_owner == me
    assert janitor.look(me) == 1
    run.refresh_from_db()
    assert (run.lease_owner, run.wake_at) == (None, clock.now())
    assert (run.status, run.lease_epoch) == (FlowStatus.RUNNING, 4)
    assert [w.kind for w in sent] == [Wanted.DRIVE]


def test_a_run_being_driven_never_is(me: UUID, sent: list[Wake]) -> None:
    run = held_run(me)
    janitor = Janitor()
    with holdings.holding("run", str(run.pk), 4):
        assert [janitor.look(me) for _ in range(3)] == [0, 0, 0]

    assert FlowRun.objects.get(pk=run.pk).lease_owner == me


def test_a_claim_under_way_at_the_first_look_stays(me: UUID, sent: list[Wake]) -> None:
    run = held_run(me)
    janitor = Janitor()
    janitor.look(me)
    with holdings.holding("run", str(run.pk), 4):
        assert janitor.look(me) == 0
    assert janitor.look(me) == 0


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"lease_epoch": 5}, id="claimed anew by this worker"),
        pytest.param({"lease_owner": UUID(int=7)}, id="taken over by another"),
        pytest.param(
            {"status": FlowStatus.CANCELLED, "closed_at": "now"}, id="closed meanwhile"
        ),
    ],
)
def test_the_guard_names_owner_and_claim(
    me: UUID, sent: list[Wake], change: dict[str, object]
) -> None:
    run = held_run(me)
    if "closed_at" in change:
        change = {**change, "closed_at": clock.now()}
    FlowRun.objects.filter(pk=run.pk).update(**change)

    assert not release.release(me, claim(run))
    run.refresh_from_db()
    assert (run.wake_at, sent) == (None, [])


def test_a_step_keeps_its_token(me: UUID, sent: list[Wake]) -> None:
    run = rows.run(FlowStatus.WAITING, wake_at=None)
    step = rows.step(run, ActionStatus.RUNNING, worker=me, token=-9)
    [owned] = release.owned(me)

    assert owned == Holding(kind="step", id=str(step.pk), token=-9)
    assert release.release(me, owned)
    step.refresh_from_db()
    assert (step.worker, step.token, step.status) == (None, -9, ActionStatus.RUNNING)
    assert [(w.kind, w.id) for w in sent] == [(Wanted.PERFORM, str(step.pk))]


def test_a_step_claimed_anew_is_left(me: UUID, sent: list[Wake]) -> None:
    run = rows.run(FlowStatus.WAITING)
    step = rows.step(run, ActionStatus.RUNNING, worker=me, token=-9)
    stale = Holding(kind="step", id=str(step.pk), token=-8)

    assert not release.release(me, stale)
    assert ActionRun.objects.get(pk=step.pk).worker == me


def test_an_inline_step_is_left_to_its_runs_next_pass(
    me: UUID, sent: list[Wake]
) -> None:
    run = held_run(me)
    rows.step(run, ActionStatus.RUNNING, worker=me, token=4, queued=False)

    assert release.release_all(me) == 2
    assert [w.kind for w in sent] == [Wanted.DRIVE]


def test_an_undo_makes_its_rollback_due(me: UUID, sent: list[Wake]) -> None:
    run = rows.run(FlowStatus.CANCELLING, wake_at=None)
    undo = rows.undo(run, worker=me, token=3)
    [owned] = release.owned(me)

    assert release.release(me, owned)
    assert CompensationRun.objects.get(pk=undo.pk).worker is None
    assert FlowRun.objects.get(pk=run.pk).wake_at == clock.now()


def test_an_undo_of_a_closed_run_wakes_nothing(me: UUID, sent: list[Wake]) -> None:
    run = rows.run(FlowStatus.TERMINATED, wake_at=None)
    rows.undo(run, worker=me, token=3)

    assert release.release_all(me) == 1
    assert FlowRun.objects.get(pk=run.pk).wake_at is None


def test_what_others_own_is_not_mine(me: UUID) -> None:
    held_run(rows.worker())

    assert release.owned(me) == frozenset()


def test_a_clean_end_gives_everything_back(me: UUID, sent: list[Wake]) -> None:
    run = held_run(me)

    Heart().stop()

    assert Worker.objects.get(pk=me).status == WorkerStatus.GONE
    assert FlowRun.objects.get(pk=run.pk).lease_owner is None


def test_a_worker_found_lost_drops_its_claims_and_begins_anew(
    me: UUID, sent: list[Wake], time: clock.FakeClock
) -> None:
    heart = Heart(leads=False)
    heart.tick()
    holdings.hold("run", "a", 1)
    Worker.objects.filter(pk=me).update(status=WorkerStatus.LOST)
    time.advance(timedelta(seconds=BEAT))

    heart.tick()

    assert holdings.current() == frozenset()
    assert workers.current() != me
    assert Worker.objects.get(pk=me).status == WorkerStatus.LOST

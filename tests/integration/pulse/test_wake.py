"""Hints: to whom, how often, and to whom not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from saga_flow import clock
from saga_flow.models import ActionRun, FlowRun
from saga_flow.records import Wake, Wanted
from saga_flow.states import MAY_START_WORK, ActionStatus, FlowStatus, WorkerStatus
from saga_flow.store import hints, wake
from tests.integration.pulse import rows
from tests.zoo.workflows import Straight

pytestmark = pytest.mark.django_db

DEAD = [WorkerStatus.LOST, WorkerStatus.GONE]
LIVE = [WorkerStatus.ALIVE, WorkerStatus.DRAINING]


@pytest.mark.parametrize("status", sorted(wake.WAKEABLE))
def test_a_due_run_is_hinted_once(
    time: clock.FakeClock, sent: list[Wake], status: FlowStatus
) -> None:
    run = rows.run(status, queue="slow")

    assert wake.due_runs(10) == [run.pk]
    assert wake.wake_run(run.pk)
    assert sent == [Wake(kind=Wanted.DRIVE, id=str(run.pk), queue="slow")]
    run.refresh_from_db()
    assert (run.hint_at, run.hints) == (clock.now(), hints.SENT)
    assert (run.status, run.revision, run.history_seq) == (status, 1, 0)


@pytest.mark.parametrize("status", sorted(set(FlowStatus) - wake.WAKEABLE))
def test_no_other_status_is_ever_hinted(
    time: clock.FakeClock, sent: list[Wake], status: FlowStatus
) -> None:
    run = rows.run(status)

    assert wake.due_runs(10) == []
    assert not wake.wake_run(run.pk)
    assert sent == []


@pytest.mark.parametrize("due", [None, timedelta(seconds=1)])
def test_what_is_not_due_is_left_alone(
    time: clock.FakeClock, sent: list[Wake], due: timedelta | None
) -> None:
    run = rows.run(FlowStatus.WAITING, wake_at=due and clock.now() + due)

    assert wake.due_runs(10) == []
    assert not wake.wake_run(run.pk)


def test_a_fresh_hint_is_not_sent_again_inside_its_window(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run()
    for count in range(12):
        assert wake.wake_run(run.pk)
        time.advance(hints.window(hints.SENT + count))
        assert wake.due_runs(10) == []
        assert not wake.wake_run(run.pk)
        time.advance(timedelta(microseconds=1))
        assert wake.due_runs(10) == [run.pk]

    assert len(sent) == 12


@pytest.mark.parametrize("status", LIVE)
def test_what_somebody_alive_holds_is_not_hinted(
    time: clock.FakeClock, sent: list[Wake], status: WorkerStatus
) -> None:
    run = rows.run(FlowStatus.RUNNING, lease_owner=rows.worker(status))

    assert wake.due_runs(10) == []
    assert not wake.wake_run(run.pk)


@pytest.mark.parametrize("status", DEAD)
def test_what_a_dead_worker_held_is(
    time: clock.FakeClock, sent: list[Wake], status: WorkerStatus
) -> None:
    run = rows.run(FlowStatus.RUNNING, lease_owner=rows.worker(status))

    assert wake.due_runs(10) == [run.pk]
    assert wake.wake_run(run.pk)


def test_so_is_what_an_unknown_worker_held(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.RUNNING, lease_owner=uuid4())

    assert wake.wake_run(run.pk)


def test_the_longest_due_come_first_and_no_more_than_asked(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    by_age = [
        rows.run(wake_at=clock.now() - timedelta(seconds=age)).pk for age in (3, 9, 6)
    ]

    assert wake.due_runs(2) == [by_age[1], by_age[2]]


def test_a_run_due_anew_is_hinted_whatever_became_of_earlier_hints(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(hint_at=clock.now(), hints=9)
    assert not wake.wake_run(run.pk)
    later = time.advance(timedelta(seconds=2))
    FlowRun.objects.filter(pk=run.pk).update(wake_at=later)

    assert wake.due_runs(10) == [run.pk]
    assert wake.wake_run(run.pk)


def test_a_started_run_whose_job_waits_is_not_hinted_again_at_once(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = Straight.using(instance_id="straight").start(1)
    time.advance(hints.window(hints.SENT))
    assert wake.due_runs(10) == []
    time.advance(timedelta(microseconds=1))

    assert wake.due_runs(10) == [run.run_id]


@pytest.mark.covers("L-RECL-8")
def test_hints_outside_their_window_do_not_fill_the_page(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    for _ in range(3):
        rows.run(wake_at=clock.now() - timedelta(hours=1), hint_at=clock.now(), hints=8)
    fresh = rows.run()

    assert wake.due_runs(1) == [fresh.pk]


def test_a_hint_that_cannot_be_sent_leaves_the_row_to_the_next_sweep(
    time: clock.FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Wake) -> None:
        raise ConnectionError

    monkeypatch.setattr("saga_flow.store.outbox._send", refuse)
    run = rows.run()

    with pytest.raises(ConnectionError):
        wake.wake_run(run.pk)
    assert FlowRun.objects.get(pk=run.pk).hint_at is None


def test_a_due_queued_step_is_hinted_to_its_own_queue(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.WAITING, wake_at=None, queue="runs")
    own = rows.step(run, sequence=0, queue="steps")
    inherited = rows.step(run, sequence=1)

    assert wake.due_steps(10) == [own.pk, inherited.pk]
    assert wake.wake_step(own.pk)
    assert wake.wake_step(inherited.pk)
    assert [(w.kind, w.id, w.queue) for w in sent] == [
        (Wanted.PERFORM, str(own.pk), "steps"),
        (Wanted.PERFORM, str(inherited.pk), "runs"),
    ]
    assert wake.due_steps(10) == []
    assert not wake.wake_step(own.pk)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"queued": False}, id="an inline one"),
        pytest.param({"available": 1}, id="in its retry delay"),
        pytest.param({"status": ActionStatus.COMPLETED}, id="settled"),
        pytest.param({"status": ActionStatus.CANCELLED}, id="cancelled"),
    ],
)
def test_no_other_step_is_hinted(
    time: clock.FakeClock, sent: list[Wake], fields: dict[str, Any]
) -> None:
    if fields.pop("available", None):
        fields["available_at"] = clock.now() + timedelta(seconds=1)
    step = rows.step(rows.run(FlowStatus.WAITING), **fields)

    assert wake.due_steps(10) == []
    assert not wake.wake_step(step.pk)
    assert sent == []


@pytest.mark.parametrize("status", sorted(set(FlowStatus) - MAY_START_WORK))
def test_no_sweep_sends_a_step_where_none_may_start(
    time: clock.FakeClock, sent: list[Wake], status: FlowStatus
) -> None:
    step = rows.step(rows.run(status))

    assert wake.due_steps(10) == []
    assert not wake.wake_step(step.pk)
    assert sent == []


def test_a_step_due_anew_is_hinted_whatever_became_of_earlier_hints(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    step = rows.step(rows.run(FlowStatus.WAITING))
    ActionRun.objects.filter(pk=step.pk).update(repairs=9, repair_at=clock.now())
    retry = time.advance(timedelta(seconds=2))
    ActionRun.objects.filter(pk=step.pk).update(available_at=retry)

    assert wake.wake_step(step.pk)
    assert ActionRun.objects.get(pk=step.pk).repairs == hints.SENT


@pytest.mark.parametrize("status", LIVE)
def test_a_step_in_a_live_workers_body_is_not_hinted(
    time: clock.FakeClock, sent: list[Wake], status: WorkerStatus
) -> None:
    worker = rows.worker(status)
    step = rows.step(
        rows.run(FlowStatus.WAITING), ActionStatus.RUNNING, worker=worker, token=1
    )

    assert wake.orphaned_steps(worker) == []
    assert not wake.wake_step(step.pk)


@pytest.mark.parametrize("status", DEAD)
def test_a_step_in_a_dead_workers_body_is(
    time: clock.FakeClock, sent: list[Wake], status: WorkerStatus
) -> None:
    worker = rows.worker(status)
    run = rows.run(FlowStatus.WAITING)
    step = rows.step(run, ActionStatus.RUNNING, worker=worker, token=1)

    assert wake.orphaned_steps(worker) == [step.pk] == wake.free_steps(run.pk)
    assert wake.wake_step(step.pk)
    assert ActionRun.objects.get(pk=step.pk).worker == worker


def test_a_rollback_whose_undo_lost_its_worker_is_made_due(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    worker = rows.worker(WorkerStatus.LOST)
    run = rows.run(FlowStatus.CANCELLING, wake_at=None)
    rows.undo(run, worker=worker)

    assert wake.rollbacks_of(worker) == [run.pk]
    assert wake.set_due(run.pk)
    assert FlowRun.objects.get(pk=run.pk).wake_at == clock.now()
    assert [w.kind for w in sent] == [Wanted.DRIVE]


def test_a_rollback_that_is_driven_is_not(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.CANCELLING, wake_at=None, lease_owner=rows.worker())

    assert not wake.set_due(run.pk)
    assert FlowRun.objects.get(pk=run.pk).wake_at is None

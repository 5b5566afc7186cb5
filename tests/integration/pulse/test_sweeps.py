"""The sweeps over rows, and the leader that runs them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from saga_flow import clock, sweeps
from saga_flow.models import FlowEvent, FlowRun, Lease, Worker
from saga_flow.pulse.heart import Heart
from saga_flow.pulse.leader import Leader
from saga_flow.records import Wake, Wanted
from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    FlowStatus,
    SignalStatus,
    WorkerStatus,
)
from saga_flow.store import deadlines, leases, wake, workers
from saga_flow.sweeps import doctor, due_work, liveness
from tests.integration.pulse import rows

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


def seconds(time: clock.FakeClock, count: int, heart: Heart) -> None:
    for _ in range(count):
        time.advance(SECOND)
        heart.tick()


def status_of(worker: UUID) -> str:
    return str(Worker.objects.get(pk=worker).status)


def test_due_work_is_woken_and_the_second_sweep_finds_nothing(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.WAITING)
    rows.step(run)

    assert dict(due_work.run(10).counts) == {"runs": 1, "steps": 1}
    assert due_work.run(10).touched == 0
    assert [w.kind for w in sent] == [Wanted.DRIVE, Wanted.PERFORM]


def test_one_bad_row_does_not_stop_the_page(
    time: clock.FakeClock, sent: list[Wake], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = rows.run(), rows.run()
    real = wake.wake_run

    def wake_run(run: UUID) -> bool:
        if run == first.pk:
            raise RuntimeError("broken row")
        return real(run)

    monkeypatch.setattr(wake, "wake_run", wake_run)

    assert dict(due_work.run(10).counts) == {"runs": 1, "steps": 0, "failed": 1}
    assert [w.id for w in sent] == [str(second.pk)]


def test_the_pulse_wakes_a_timer_within_a_second(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.WAITING, wake_at=clock.now() + 3 * SECOND)
    heart = Heart()
    heart.tick()
    seconds(time, 2, heart)
    assert sent == []

    seconds(time, 1, heart)

    assert [w.id for w in sent] == [str(run.pk)]


def test_only_one_of_two_pulses_leads(time: clock.FakeClock, sent: list[Wake]) -> None:
    one, two = Leader(), Leader()
    told: list[str] = []
    one.tell = lambda name, _: told.append(f"one {name}")
    two.tell = lambda name, _: told.append(f"two {name}")

    one.tick(rows.worker())
    two.tick(rows.worker())

    assert {line.split()[0] for line in told} == {"one"}


def test_a_leader_that_resigns_is_followed_at_once(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    first, second = rows.worker(), rows.worker()
    one, two = Leader(), Leader()
    one.tick(first)
    one.resign(first)
    time.advance(SECOND)
    two.tick(second)

    assert leases.leader() == second


def test_a_leader_cut_off_from_its_lease_stops_leading(
    time: clock.FakeClock, sent: list[Wake], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    leader = Leader(tell=lambda name, _: told.append(name))
    me = rows.worker()
    leader.tick(me)
    told.clear()
    monkeypatch.setattr(leases, "acquire", lambda *_: False)
    time.advance(5 * SECOND)
    leader.tick(me)

    assert told == []
    assert not liveness.may_judge()


def test_idle_ticks_write_nothing(time: clock.FakeClock, sent: list[Wake]) -> None:
    heart = Heart()
    seconds(time, 6, heart)
    with CaptureQueriesContext(connection) as queries:
        seconds(time, 4, heart)

    written = [q["sql"] for q in queries if not q["sql"].startswith("SELECT")]
    assert written == []


def test_a_worker_silent_for_twenty_seconds_is_lost_and_its_work_taken_up(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    dead = rows.worker()
    run = rows.run(FlowStatus.RUNNING, lease_owner=dead)
    waiting = rows.run(FlowStatus.WAITING, wake_at=None)
    step = rows.step(waiting, ActionStatus.RUNNING, worker=dead)
    rollback = rows.run(FlowStatus.CANCELLING, wake_at=None)
    rows.undo(rollback, worker=dead)
    heart = Heart()
    heart.tick()
    seconds(time, 20, heart)
    assert (status_of(dead), sent) == (WorkerStatus.ALIVE, [])

    seconds(time, 2, heart)

    assert status_of(dead) == WorkerStatus.LOST
    assert {(w.kind, w.id) for w in sent} >= {
        (Wanted.DRIVE, str(run.pk)),
        (Wanted.PERFORM, str(step.pk)),
        (Wanted.DRIVE, str(rollback.pk)),
    }


def test_a_worker_that_beats_is_not_declared_lost(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    other = rows.worker()
    heart = Heart()
    for _ in range(60):
        seconds(time, 1, heart)
        workers.beat(other)

    assert status_of(other) == WorkerStatus.ALIVE


def test_after_an_outage_of_the_database_nobody_is_lost(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    other = rows.worker()
    heart = Heart()
    seconds(time, 15, heart)
    # Nobody could beat, nor the leader tick.
    time.advance(timedelta(minutes=5))
    seconds(time, 9, heart)
    assert status_of(other) == WorkerStatus.ALIVE
    workers.beat(other)
    seconds(time, 10, heart)

    assert status_of(other) == WorkerStatus.ALIVE


def test_after_the_database_clock_was_set_nobody_is_lost(
    time: clock.FakeClock, sent: list[Wake], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = rows.worker()
    heart = Heart()
    seconds(time, 15, heart)
    # An hour forward, and the monotonic clock with no part in it.
    shift = 0.0
    real = clock.monotonic
    monkeypatch.setattr(clock, "monotonic", lambda: real() - shift)
    shift = 3600.0
    time.advance(timedelta(hours=1))
    seconds(time, 5, heart)

    assert status_of(other) == WorkerStatus.ALIVE


def test_a_process_that_does_not_lead_declares_nobody_lost(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    other = rows.worker()
    time.advance(timedelta(hours=1))

    assert sweeps.run("workers").counts["lost"] == 0
    assert status_of(other) == WorkerStatus.ALIVE


def test_overdue_runs_come_longest_overdue_first(time: clock.FakeClock) -> None:
    now = clock.now()
    runs = [
        rows.run(status, expires_at=now - age * SECOND).pk
        for status, age in (
            (FlowStatus.WAITING, 2),
            (FlowStatus.PENDING, 4),
            (FlowStatus.INTERRUPTED, 3),
        )
    ]
    rows.run(FlowStatus.CANCELLING, expires_at=now - SECOND)
    rows.run(FlowStatus.COMPLETED, expires_at=now - SECOND)
    rows.run(FlowStatus.WAITING, expires_at=now + SECOND)
    rows.run(
        FlowStatus.WAITING, expires_at=now - 9 * SECOND, hold_until=now + 60 * SECOND
    )

    assert deadlines.overdue(10) == [runs[1], runs[2], runs[0]]
    assert deadlines.overdue(1) == [runs[1]]


def stuck(status: FlowStatus = FlowStatus.WAITING) -> FlowRun:
    return rows.run(status, wake_at=None)


@pytest.mark.parametrize(
    "status",
    [
        FlowStatus.PENDING,
        FlowStatus.RUNNING,
        FlowStatus.WAITING,
        FlowStatus.CANCELLING,
    ],
)
def test_a_run_that_waits_for_nothing_is_repaired_and_it_is_in_its_journal(
    time: clock.FakeClock, sent: list[Wake], status: FlowStatus
) -> None:
    run = stuck(status)

    assert doctor.run(10).counts["runs"] == 1
    run.refresh_from_db()
    assert (run.wake_at, run.repairs, run.history_seq) == (clock.now(), 1, 1)
    [line] = FlowEvent.objects.filter(run=run)
    assert (line.sequence, line.type) == (1, "flow.repaired")
    assert [w.kind for w in sent] == [Wanted.DRIVE]
    assert doctor.run(10).touched == 0


def with_step(run: FlowRun) -> None:
    rows.step(run, available_at=clock.now() + timedelta(hours=1))


def with_parked_step(run: FlowRun) -> None:
    rows.step(run, ActionStatus.AWAITING_RETRY)


def with_marker(run: FlowRun) -> None:
    run.signals.create(
        name="go", status=SignalStatus.WAITING, sequence=0, created_at=clock.now()
    )


def with_child(run: FlowRun) -> None:
    run.children.create(
        sequence=0,
        child=UUID(int=1),
        workflow_name="zoo.any",
        status=ChildStatus.RUNNING,
        close_policy="abandon",
        created_at=clock.now(),
    )


def with_timer(run: FlowRun) -> None:
    FlowRun.objects.filter(pk=run.pk).update(wake_at=clock.now() + SECOND)


def with_owner(run: FlowRun) -> None:
    FlowRun.objects.filter(pk=run.pk).update(lease_owner=rows.worker())


def interrupted(run: FlowRun) -> None:
    FlowRun.objects.filter(pk=run.pk).update(status=FlowStatus.INTERRUPTED)


@pytest.mark.parametrize(
    "wait",
    [
        with_step,
        with_parked_step,
        with_marker,
        with_child,
        with_timer,
        with_owner,
        interrupted,
    ],
)
def test_a_run_that_waits_for_something_is_left_alone(
    time: clock.FakeClock, sent: list[Wake], wait: Callable[[FlowRun], None]
) -> None:
    run = stuck()
    wait(run)

    assert doctor.run(10).touched == 0
    assert sent == []


def test_a_rollback_whose_undo_is_under_way_is_left_alone(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = stuck(FlowStatus.CANCELLING)
    rows.undo(run, worker=rows.worker())

    assert doctor.run(10).touched == 0


def test_repairs_of_one_run_come_ever_more_rarely(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = stuck()
    doctor.run(10)
    for minutes in (2, 4, 8):
        FlowRun.objects.filter(pk=run.pk).update(wake_at=None, hints=0)
        time.advance(timedelta(minutes=minutes))
        assert doctor.run(10).touched == 0
        time.advance(SECOND)
        assert doctor.run(10).touched == 1
        FlowRun.objects.filter(pk=run.pk).update(repair_at=clock.now())


def test_a_step_begun_by_nobody_alive_is_sent_again(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    run = rows.run(FlowStatus.WAITING, wake_at=None)
    step = rows.step(run, ActionStatus.RUNNING, worker=None)

    assert doctor.run(10).counts["steps"] == 1
    assert [(w.kind, w.id) for w in sent] == [(Wanted.PERFORM, str(step.pk))]


def test_the_doctor_goes_on_where_the_last_page_ended_and_round_again(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    for number in range(5):
        run = rows.run(
            FlowStatus.WAITING, wake_at=None, sort_at=clock.now() + number * SECOND
        )
        if number != 4:
            with_marker(run)

    touched = [sweeps.run_and_record("doctor", 2).touched for _ in range(3)]

    assert touched == [0, 0, 1]
    assert Lease.objects.get(name="doctor").report == (
        '{"counts":{"runs":1,"steps":0}}'
    )


def test_sweeps_note_when_they_ran(time: clock.FakeClock, sent: list[Wake]) -> None:
    heart = Heart()
    heart.tick()
    ran: dict[str, datetime | None] = {r.name: r.ran_at for r in leases.ran()}

    assert ran == dict.fromkeys(sweeps.REGISTERED, clock.now())

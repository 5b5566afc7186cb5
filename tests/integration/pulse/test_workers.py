"""Who executes: registration, beats, death and a good end."""

from __future__ import annotations

import os
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from saga_flow import clock, holdings
from saga_flow.models import Worker
from saga_flow.states import WorkerStatus
from saga_flow.store import workers

pytestmark = pytest.mark.django_db

SILENT = workers.SILENCE + timedelta(seconds=1)


def status_of(worker: UUID) -> str:
    return str(Worker.objects.get(pk=worker).status)


def test_a_process_has_one_incarnation() -> None:
    assert workers.ensure() == workers.ensure()
    row = Worker.objects.get(pk=workers.ensure())
    assert (row.pid, row.status) == (os.getpid(), WorkerStatus.ALIVE)


@pytest.mark.parametrize("end", [WorkerStatus.LOST, WorkerStatus.GONE])
def test_a_lost_or_gone_worker_begins_anew_and_drops_its_claims(
    end: WorkerStatus,
) -> None:
    first = workers.ensure()
    holdings.hold("run", "r", 1)
    Worker.objects.filter(pk=first).update(status=end)

    second = workers.ensure()

    assert second != first
    assert holdings.current() == frozenset()
    assert status_of(first) == end


def test_a_missing_row_is_registered_anew() -> None:
    first = workers.ensure()
    Worker.objects.all().delete()

    assert workers.ensure() != first


def test_a_beat_tells_the_time_and_what_is_held(time: clock.FakeClock) -> None:
    me = workers.ensure()
    later = time.advance(timedelta(seconds=5))
    with holdings.holding("step", "7", 3):
        assert workers.beat(me)

    row = Worker.objects.get(pk=me)
    assert (row.beat_at, row.holding) == (later, "step 7")


@pytest.mark.parametrize("end", [WorkerStatus.LOST, WorkerStatus.GONE])
def test_a_beat_of_an_ended_worker_changes_nothing(
    time: clock.FakeClock, end: WorkerStatus
) -> None:
    me = workers.ensure()
    Worker.objects.filter(pk=me).update(status=end)
    time.advance(timedelta(seconds=5))

    assert not workers.beat(me)
    assert Worker.objects.get(pk=me).beat_at < clock.now()


def test_a_silent_worker_is_declared_lost(time: clock.FakeClock) -> None:
    me = workers.ensure()
    time.advance(SILENT)

    assert workers.silent(10) == [me]
    assert workers.declare_lost(me)
    assert status_of(me) == WorkerStatus.LOST


def test_a_worker_that_beat_since_it_was_listed_is_not_lost(
    time: clock.FakeClock,
) -> None:
    me = workers.ensure()
    time.advance(SILENT)
    listed = workers.silent(10)
    workers.beat(me)

    assert listed == [me]
    assert not workers.declare_lost(me)
    assert status_of(me) == WorkerStatus.ALIVE


def test_a_worker_that_has_left_is_not_lost_afterwards(time: clock.FakeClock) -> None:
    me = workers.ensure()
    workers.leave(me)
    time.advance(SILENT)

    assert workers.silent(10) == []
    assert not workers.declare_lost(me)
    assert status_of(me) == WorkerStatus.GONE


def test_silence_of_just_the_window_is_not_enough(time: clock.FakeClock) -> None:
    me = workers.ensure()
    time.advance(workers.SILENCE)

    assert workers.silent(10) == []
    assert not workers.declare_lost(me)


def test_the_longest_silent_come_first_and_no_more_than_asked(
    time: clock.FakeClock,
) -> None:
    keys = []
    for _ in range(3):
        keys.append(workers.ensure())
        Worker.objects.filter(pk=keys[-1]).update(status=WorkerStatus.GONE)
        time.advance(timedelta(seconds=1))
    Worker.objects.update(status=WorkerStatus.ALIVE)
    time.advance(SILENT)

    assert workers.silent(2) == keys[:2]


def test_a_lost_worker_cannot_leave_or_drain() -> None:
    me = workers.ensure()
    Worker.objects.filter(pk=me).update(status=WorkerStatus.LOST)

    assert not workers.drain(me)
    assert not workers.leave(me)
    assert status_of(me) == WorkerStatus.LOST


def test_a_draining_worker_still_beats_and_may_leave() -> None:
    me = workers.ensure()

    assert workers.drain(me)
    assert workers.beat(me)
    assert workers.leave(me)
    assert status_of(me) == WorkerStatus.GONE


def test_only_rows_of_workers_that_ended_long_ago_are_deleted(
    time: clock.FakeClock,
) -> None:
    old = workers.ensure()
    workers.leave(old)
    time.advance(timedelta(days=2))
    recent = workers.ensure()
    workers.leave(recent)
    alive = workers.ensure()

    assert workers.forget_ended(timedelta(days=1), 10) == 1
    assert {facts.id for facts in workers.listing()} == {recent, alive}


@pytest.mark.django_db(transaction=True)
def test_a_forked_child_is_an_incarnation_of_its_own() -> None:
    first = workers.ensure()
    reader, writer = os.pipe()
    connection.close()
    child = os.fork()
    if child == 0:
        os.write(writer, workers.ensure().bytes)
        os._exit(0)
    os.waitpid(child, 0)

    assert UUID(bytes=os.read(reader, 16)) != first
    assert workers.ensure() == first

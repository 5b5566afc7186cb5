"""The pulse as a thread: in workers, while run_sync drives, and nowhere else."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable

import pytest
from django.db import OperationalError, connection

from saga_flow import holdings
from saga_flow.models import Worker
from saga_flow.pulse import beating, spawn
from saga_flow.pulse import thread as pulse_thread
from saga_flow.pulse.heart import Heart
from saga_flow.pulse.thread import PulseThread
from saga_flow.states import WorkerStatus
from saga_flow.store import leases
from tests.support.eventually import eventually


def pulses() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "saga-flow-pulse"]


class Beats(Heart):
    """Counts ticks, and does *then* at each."""

    __slots__ = ("done", "enough", "then", "ticks")

    def __init__(self, then: Callable[[int], None], enough: int) -> None:
        super().__init__()
        self.then, self.ticks, self.enough = then, 0, enough
        self.done = threading.Event()

    def tick(self) -> None:
        self.ticks += 1
        if self.ticks == self.enough:
            self.done.set()
        self.then(self.ticks)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse_thread, "TICK", 0.01)


@pytest.mark.django_db(transaction=True)
def test_a_tick_that_fails_is_logged_and_followed_by_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail_once(ticks: int) -> None:
        if ticks == 1:
            raise OperationalError("database is locked")

    heart = Beats(fail_once, enough=3)
    thread = PulseThread(heart)
    thread.start()
    assert heart.done.wait(30)
    thread.stop()

    assert "database is locked" in caplog.text
    assert pulses() == []


@pytest.mark.django_db(transaction=True)
def test_while_run_sync_drives_the_process_is_a_worker_and_then_leaves() -> None:
    with beating():
        eventually(Worker.objects.filter(status=WorkerStatus.ALIVE).first, "a worker")
        [before] = Worker.objects.all()
        with beating():
            assert len(pulses()) == 1
        assert len(pulses()) == 1

    before.refresh_from_db()
    assert before.status == WorkerStatus.GONE
    assert pulses() == []


@pytest.mark.django_db(transaction=True)
def test_beats_for_run_sync_do_not_lead() -> None:
    with beating():
        eventually(Worker.objects.first, "a worker")
        assert leases.leader() is None


@pytest.mark.django_db
def test_in_a_test_case_there_is_no_thread() -> None:
    with beating():
        assert pulses() == []


def test_a_process_that_nobody_spawned_gets_no_pulse() -> None:
    spawn.on_spawn()

    assert pulses() == []


def test_an_error_at_the_start_does_not_end_the_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("no pulse")

    monkeypatch.setattr(multiprocessing, "parent_process", object)
    monkeypatch.setattr(spawn, "_start", broken)

    spawn.on_spawn()

    assert "no pulse" in caplog.text


def test_django_q2_tells_of_each_worker_it_spawns() -> None:
    from django_q.signals import post_spawn

    keys = [receiver[0][0] for receiver in post_spawn.receivers]

    assert keys.count("saga_flow.pulse") == 1


@pytest.mark.django_db(transaction=True)
def test_a_spawned_process_beats_and_signs_off_at_its_end() -> None:
    context = multiprocessing.get_context("fork")
    go_on = context.Event()

    def work() -> None:
        spawn.on_spawn()
        holdings.hold("step", "1", 1)
        go_on.wait(60)

    connection.close()
    child = context.Process(target=work)
    child.start()
    assert child.pid is not None
    try:
        row = eventually(Worker.objects.filter(pid=child.pid).first, "its row")
        assert (row.status, row.queue) == (WorkerStatus.ALIVE, "saga_flow")
    finally:
        go_on.set()
        child.join(60)

    row.refresh_from_db()
    assert (child.exitcode, row.status) == (0, WorkerStatus.GONE)

"""Bodies that hang, swallow their limit, fork, or close their connection."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import pytest
from django.db import connection

from saga_flow import sweeps
from saga_flow.engine import bodies
from saga_flow.models import ActionAttempt, ActionRun, FlowEvent, FlowRun
from tests.integration.time_limits.flows import SOON, Hasty, Patient, during, ran
from tests.support.eventually import eventually

pytestmark = pytest.mark.django_db(transaction=True)

FAR_TOO_LONG = 60.0
SLEEP_IN_A_QUERY = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    " WHERE i < 3000000) SELECT max(i) FROM n",
    "postgresql": "SELECT pg_sleep(60)",
    "mysql": "SELECT SLEEP(0.5)",
}
"""SQLite and MariaDB come back by themselves: a signal doesn't reach their drivers."""


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    ran.clear()
    during.clear()
    yield
    assert signal.getitimer(signal.ITIMER_REAL)[0] in (0, pytest.approx(300, abs=300))


def step() -> ActionRun:
    return ActionRun.objects.get()


def first_time(act: Any) -> None:
    """Do *act* in the first attempt, and nothing in the next."""

    def once() -> Any:
        during.clear()
        return act()

    during["hasty"] = once


def timed_out() -> list[tuple[int, str]]:
    rows = ActionAttempt.objects.order_by("attempt").values_list("attempt", "error")
    return [(n, str(error)) for n, error in rows if "ActionTimedOut" in str(error)]


def test_a_body_that_sleeps_is_stopped_and_tried_again() -> None:
    first_time(lambda: time.sleep(FAR_TOO_LONG))

    handle = Hasty.using(instance_id="t1").run_sync()

    assert handle.completed()
    assert ran == [("hasty", 1), ("hasty", 2)]
    [(attempt, error)] = timed_out()
    assert attempt == 1
    assert "ran over its limit of 0:00:00.1" in error


def test_a_body_that_never_has_time_enough_fails_its_step() -> None:
    during["hasty"] = lambda: time.sleep(FAR_TOO_LONG)

    handle = Hasty.using(instance_id="t1").run_sync()

    assert handle.failed()
    assert handle.error is not None
    assert "ActionTimedOut" in handle.error["message"]
    assert step().attempt == 2


def test_a_body_that_waits_for_a_query_is_stopped_where_its_driver_allows() -> None:
    def query() -> str:
        with connection.cursor() as cursor:
            cursor.execute(SLEEP_IN_A_QUERY[connection.vendor])
        return "came back"

    first_time(query)

    handle = Hasty.using(instance_id="t1").run_sync()

    # whatever state the query was left in, the engine writes on
    assert handle.completed()
    assert ran == [("hasty", 1), ("hasty", 2)]
    assert [attempt for attempt, _ in timed_out()] == [1]


def sweep_until_settled(swept: threading.Event) -> None:
    """The leader's part, in a thread of its own."""
    try:
        eventually(lambda: sweeps.run("limits").counts["attempts"], "it is settled")
    finally:
        swept.set()
        connection.close()


def test_a_body_that_hangs_in_c_is_settled_by_the_sweep() -> None:
    """Its late outcome is refused, and listed."""
    swept = threading.Event()

    def hang() -> str:
        # in C, without the interpreter's lock: no signal handler runs meanwhile
        while not swept.is_set():
            ctypes.CDLL(None).usleep(20_000)
        return "late"

    def swallow() -> str:
        try:
            return hang()
        except BaseException:  # noqa: BLE001 - what a body must not do
            return hang()

    first_time(swallow)
    sweeper = threading.Thread(target=sweep_until_settled, args=[swept])
    sweeper.start()
    handle = Hasty.using(instance_id="t1").run_sync()
    sweeper.join()

    assert [attempt for attempt, _ in timed_out()] == [1]
    refused = FlowEvent.objects.get(type="action.outcome_rejected")
    assert "late" in refused.data
    run = FlowRun.objects.get(pk=handle.run_id)
    assert run.attention == "outcome_rejected"


def test_a_body_that_swallows_its_limit_is_left_to_its_own_outcome() -> None:
    """Nobody has settled it meanwhile, so what it returns counts."""

    def swallow() -> str:
        try:
            time.sleep(FAR_TOO_LONG)
        except BaseException:  # noqa: BLE001 - what a body must not do
            return "all the same"
        return "never"

    first_time(swallow)

    assert Hasty.using(instance_id="t1").run_sync().output() == "all the same"


@pytest.mark.parametrize("returns", [True, False])
def test_a_process_that_a_body_forks_is_no_second_engine(returns: bool) -> None:  # noqa: FBT001
    def fork() -> int:
        child = os.fork()
        if child == 0 and not returns:
            os._exit(3)
        if child == 0:
            return -1
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    during["patient"] = fork

    handle = Patient.using(instance_id="t1").run_sync(queued=False)

    assert handle.output() == (0 if returns else 3)
    assert (step().attempt, step().status) == (1, "completed")
    assert not FlowEvent.objects.filter(type="action.outcome_rejected").exists()


def test_a_body_that_closes_its_connection_does_no_harm() -> None:
    during["patient"] = connection.close

    assert Patient.using(instance_id="t1").run_sync(queued=False).completed()


# ------------------------------------------------------------------ who else has it


class JobTimeOut(SystemExit):
    """As django-q2 raises it."""


@pytest.fixture
def theirs() -> Iterator[list[int]]:
    """A handler of somebody else's, which ends what it interrupts."""
    rang: list[int] = []

    def ring(_signal: int, _frame: FrameType | None) -> NoReturn:
        rang.append(1)
        raise JobTimeOut

    before = signal.signal(signal.SIGALRM, ring)
    left = signal.setitimer(signal.ITIMER_REAL, 0)
    yield rang
    signal.signal(signal.SIGALRM, before)
    signal.setitimer(signal.ITIMER_REAL, *left)


def test_a_job_s_own_shorter_limit_counts_for_the_attempt_and_is_passed_on(
    theirs: list[int],
) -> None:
    during["patient"] = lambda: time.sleep(FAR_TOO_LONG)
    start = Patient.using(instance_id="t1")
    signal.setitimer(signal.ITIMER_REAL, 0.2)

    with pytest.raises(JobTimeOut):
        start.run_sync(queued=False)

    assert theirs == [1]
    assert step().status == "pending"
    assert [attempt for attempt, _ in timed_out()] == [1]


def test_the_timer_that_was_there_gets_back_what_is_left_of_it(
    theirs: list[int],
) -> None:
    first_time(lambda: time.sleep(FAR_TOO_LONG))
    handler = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 30)

    assert Hasty.using(instance_id="t1").run_sync().completed()

    left = signal.setitimer(signal.ITIMER_REAL, 0)[0]
    assert 0 < left < 30 - SOON.total_seconds()
    assert signal.getsignal(signal.SIGALRM) is handler
    assert theirs == []


def test_a_thread_has_no_timer_and_leaves_its_limit_to_the_sweep() -> None:
    seen: list[float] = []
    alarm = bodies.Alarm(SOON, "too long")
    before = signal.getsignal(signal.SIGALRM)

    def enter() -> None:
        with alarm:
            seen.append(1.0)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()

    assert (seen, alarm.fired) == ([1.0], False)
    assert signal.getsignal(signal.SIGALRM) is before

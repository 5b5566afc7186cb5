"""Jobs: hints that never fail, and a look round after each."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import override_settings
from django_q.exceptions import TimeoutException
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from saga_flow import clock, holdings, jobs, sweeps
from saga_flow.holdings import Holding
from saga_flow.models import FlowRun
from saga_flow.records import Wake, Wanted
from saga_flow.store import leases
from tests.integration.pulse import rows
from tests.zoo.workflows import Straight

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _not_looked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_looked_at", float("-inf"))


@pytest.mark.parametrize(
    ("job", "id"),
    [(jobs.drive, str(UUID(int=0))), (jobs.perform, "0"), (jobs.undo, "0")],
)
def test_a_hint_about_what_is_gone_is_dropped(
    job: object, id: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert callable(job)
    assert job(id) is None
    assert [r for r in caplog.records if r.levelname == "ERROR"] == []


@pytest.mark.covers("M-RUN-2")
def test_a_start_sends_exactly_one_job_in_its_own_transaction() -> None:
    run = Straight.using(instance_id="straight").start(2)

    [row] = OrmQ.objects.all()
    job = SignedPackage.loads(row.payload)
    assert (job["func"], job["args"]) == ("saga_flow.jobs.drive", (str(run.run_id),))


def test_a_job_does_what_its_kind_says(sent: list[Wake]) -> None:
    run = Straight.using(instance_id="straight").start(2)

    jobs.execute(sent[0])

    assert FlowRun.objects.get(pk=run.run_id).status == "completed"


def test_an_unexpected_error_is_logged_with_the_run_and_goes_no_further(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = uuid4()

    def broken(_: UUID) -> None:
        holdings.hold("run", str(run), 1)
        raise RuntimeError("out of order")

    monkeypatch.setattr("saga_flow.engine.drive.drive", broken)

    jobs.drive(str(run))

    assert str(run) in caplog.text
    assert "out of order" in caplog.text
    assert holdings.current() == frozenset()


def test_a_time_limit_is_passed_on_with_nothing_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_long(_: int) -> None:
        holdings.hold("step", "1", 1)
        raise TimeoutException("over")

    monkeypatch.setattr("saga_flow.engine.perform.perform", too_long)

    with pytest.raises(TimeoutException):
        jobs.perform("1")
    assert holdings.current() == frozenset()


def test_what_another_thread_executes_meanwhile_stays_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def beside(_: UUID) -> None:
        thread = threading.Thread(target=holdings.hold, args=("run", "other", 1))
        thread.start()
        thread.join()

    monkeypatch.setattr("saga_flow.engine.drive.drive", beside)

    jobs.drive(str(uuid4()))

    assert holdings.current() == {Holding(kind="run", id="other", token=1)}


def test_after_a_job_due_work_is_woken_now_and_then(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    first = rows.run()
    jobs.undo("0")
    assert [w.id for w in sent] == [str(first.pk)]

    second = rows.run()
    jobs.undo("0")
    assert len(sent) == 1
    time.advance(timedelta(seconds=jobs.LOOK_ROUND))
    jobs.undo("0")
    assert str(second.pk) in {w.id for w in sent}


def test_a_look_round_that_fails_does_not_fail_the_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no look")

    monkeypatch.setattr(sweeps, "run", broken)

    jobs.undo("0")

    assert "no look" in caplog.text


def test_a_sweep_notes_that_it_ran(time: clock.FakeClock, sent: list[Wake]) -> None:
    rows.run()

    jobs.sweep("due_work")

    [ran] = leases.ran()
    assert (ran.name, ran.report["counts"]["runs"]) == ("due_work", 1)


def test_sweeps_that_are_switched_off_do_nothing(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    rows.run()
    with override_settings(SAGA_FLOW={"SWEEPS": False}):
        jobs.sweep("due_work")
        jobs.undo("0")

    assert (sent, leases.ran()) == ([], ())


def test_every_kind_of_wake_has_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("drive", "perform", "undo"):
        monkeypatch.setattr(jobs, name, lambda id, name=name: done.append(name + id))

    for kind in Wanted:
        jobs.execute(Wake(kind=kind, id="1", queue=""))

    assert done == ["drive1", "perform1", "undo1"]

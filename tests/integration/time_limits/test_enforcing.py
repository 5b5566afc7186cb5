"""What the sweep does where an attempt's own worker does not, and heartbeats."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from saga_flow import FlowStatus, client, clock, jobs, sweeps
from saga_flow.authoring.handle import Handle
from saga_flow.current import current_step
from saga_flow.exceptions import NotInStep
from saga_flow.models import ActionAttempt, ActionRun, FlowEvent, FlowRun
from saga_flow.records import Wake
from saga_flow.serialization import codec
from saga_flow.store import outbox
from tests.integration.time_limits.flows import (
    LONG,
    Hasty,
    Patient,
    Talkative,
    Whole,
    during,
    ran,
)
from tests.support.engine_tables import check_journal

pytestmark = pytest.mark.django_db(transaction=True)

A_MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[clock.FakeClock]:
    monkeypatch.setattr(outbox, "_send", sent.append)
    sent.clear()
    ran.clear()
    during.clear()
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


sent: list[Wake] = []


def started(flow: Any, *arguments: Any, **named: Any) -> Handle[Any]:
    """A run of *flow* that has been driven once; then its queued step, if any."""
    handle: Handle[Any] = flow.using(instance_id="t1").start(*arguments, **named)
    jobs.drive(str(handle.run_id))
    for queued in ActionRun.objects.filter(run=handle.run_id, queued=True):
        jobs.perform(str(queued.pk))
    return handle.refresh()


def swept() -> int:
    return sweeps.run("limits").counts["attempts"]


def step() -> ActionRun:
    return ActionRun.objects.get()


@pytest.mark.covers("D-ACT-2", "D-ACT-3")
@pytest.mark.parametrize("queued", [False, True])
def test_an_attempt_over_its_time_is_settled_and_its_late_result_refused(
    queued: bool,  # noqa: FBT001
    time: clock.FakeClock,
) -> None:
    def over_time() -> str:
        during.clear()
        assert step().deadline_at == time.now + LONG
        time.advance(LONG)
        assert swept() == 0  # its own worker comes first
        time.advance(timedelta(seconds=1))
        assert swept() == 1
        assert swept() == 0
        return "late"

    during["patient"] = over_time
    handle = started(Patient, queued)

    row = step()
    assert (row.status, row.attempt, row.result) == ("pending", 1, None)
    run = FlowRun.objects.get(pk=handle.run_id)
    assert (run.status, run.attention) == (
        "waiting" if queued else "running",
        "outcome_rejected",
    )
    assert run.lease_owner is None
    [tried] = ActionAttempt.objects.filter(outcome="failed")
    assert "ActionTimedOut" in (tried.error or "")

    client.drive(handle.run_id)

    assert handle.refresh().completed()
    assert ran == [("patient", 1), ("patient", 2)]
    check_journal(handle.run_id)


@pytest.mark.covers("D-ACT-3")
def test_a_heartbeat_that_came_in_time_wins(time: clock.FakeClock) -> None:
    def beat() -> str:
        for _ in range(3):
            time.advance(LONG - A_MINUTE)
            assert current_step().heartbeat() is False
            assert swept() == 0
        return "alive"

    during["talkative"] = beat

    assert started(Talkative).output() == "alive"


@pytest.mark.covers("D-ACT-2")
def test_silence_fails_the_attempt(time: clock.FakeClock) -> None:
    def fall_silent() -> str:
        during.clear()
        current_step().heartbeat({"done": 1})
        time.advance(LONG)
        assert swept() == 1
        return "late"

    during["talkative"] = fall_silent
    handle = started(Talkative)

    [tried] = ActionAttempt.objects.filter(outcome="failed")
    assert "sent no heartbeat for 0:01:30" in (tried.error or "")
    client.drive(handle.run_id)
    assert handle.refresh().completed()
    # the next attempt begins afresh
    assert step().progress is None


def test_progress_is_there_while_the_body_runs_and_afterwards() -> None:
    seen: list[Any] = []

    def work() -> None:
        current_step().heartbeat({"done": 1})
        seen.append(codec.decode(step().progress or "null"))
        # sooner than the next write; written at the end all the same
        current_step().heartbeat({"done": 2})
        seen.append(codec.decode(step().progress or "null"))

    during["talkative"] = work
    started(Talkative)

    assert seen == [{"done": 1}, {"done": 1}]
    assert codec.decode(step().progress or "null") == {"done": 2}


def test_a_body_hears_from_its_heartbeat_that_the_run_is_not_wanted() -> None:
    heard: list[bool] = []

    def work() -> None:
        heard.append(current_step().heartbeat())
        handle.cancel()
        clock.now()
        heard.append(current_step().cancel_requested())

    during["talkative"] = work
    handle: Handle[Any] = Talkative.using(instance_id="t1").start()
    jobs.drive(str(handle.run_id))

    assert heard == [False, True]
    assert handle.refresh().cancelled()


def test_an_atomic_body_has_no_heartbeat() -> None:
    errors: list[str] = []

    def work() -> None:
        with pytest.raises(NotInStep, match="body of an atomic step") as error:
            current_step().heartbeat()
        errors.append(str(error.value))

    during["whole"] = work

    assert started(Whole).completed()
    assert len(errors) == 1


def test_the_deadline_is_known_to_the_body(time: clock.FakeClock) -> None:
    seen: list[Any] = []
    during["patient"] = lambda: seen.append(current_step().deadline)

    started(Patient, queued=False)

    assert seen == [time.now + LONG]


def test_an_undo_over_its_time_is_tried_again(time: clock.FakeClock) -> None:
    """The driver that is in it loses the rollback to whoever comes next."""

    def over_time() -> None:
        during.pop("undo None")
        time.advance(timedelta(seconds=2))
        assert swept() == 1

    def fail() -> None:
        run.compensate()

    during["patient"] = fail
    during["undo None"] = over_time
    run: Handle[Any] = Patient.using(instance_id="t1").start(queued=False)
    jobs.drive(str(run.run_id))
    for _ in range(3):
        client.drive(run.run_id)

    assert run.refresh().status is FlowStatus.CANCELLED
    assert [what for what, _ in ran] == ["patient", "undo None", "undo None"]
    rejected = FlowEvent.objects.filter(type__contains="rejected")
    assert rejected.count() == 1
    assert run.compensation_state == "completed"


def test_a_limit_costs_no_statement_more() -> None:
    """Its times are columns of the statement that begins the attempt."""
    with_limits = Hasty.using(instance_id="t2").run_sync()
    row = ActionRun.objects.get(run=with_limits.run_id)
    assert row.deadline_at is not None
    assert row.silent_at is None

"""Steps with a job of their own: scheduled, performed, tried again, ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from saga_flow import FlowStatus, Workflow, client, clock, flows, jobs, sweeps
from saga_flow.authoring.handle import Handle
from saga_flow.engine import perform
from saga_flow.models import ActionAttempt, ActionRun, FlowRun
from saga_flow.records import Wake, Wanted
from saga_flow.states import ActionStatus
from saga_flow.store import claims, outbox, workers
from saga_flow.testing import drain, run_workflow
from tests.integration.queued_steps.flows import (
    LONG,
    Elsewhere,
    Once,
    Parcel,
    Patient,
    decline_once,
    during,
    ran,
)
from tests.support.rows import dump
from tests.support.statements import counted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def time() -> Iterator[clock.FakeClock]:
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out; a test acts upon them."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    ran.clear()
    during.clear()
    return wakes


def started(flow: Any, *arguments: Any, **options: Any) -> Handle[Any]:
    """A run of *flow* that waits for its queued step."""
    handle: Handle[Any] = flow.using(instance_id="p1", **options).start(*arguments)
    jobs.drive(str(handle.run_id))
    return handle.refresh()


def the_step(handle: Handle[Any]) -> ActionRun:
    return ActionRun.objects.get(run=handle.run_id, queued=True)


def pack(handle: Handle[Any]) -> None:
    """The job of the run's queued step."""
    jobs.perform(str(the_step(handle).pk))


def statuses(run: UUID) -> list[str]:
    steps = ActionRun.objects.filter(run=run).order_by("sequence")
    return list(steps.values_list("status", flat=True))


# ------------------------------------------------------------------ scheduled


def test_a_run_waits_for_its_queued_step_whose_job_is_sent_with_it(
    sent: list[Wake],
) -> None:
    handle = started(Parcel)

    run, step = FlowRun.objects.get(pk=handle.run_id), the_step(handle)
    assert (run.status, run.wake_at, run.lease_owner) == ("waiting", None, None)
    assert (run.wait_kind, run.wait_name) == ("step", "queued_steps.pack")
    assert run.position == 2
    assert (step.status, step.attempt, step.worker) == ("pending", 0, None)
    assert sent[1:] == [Wake(kind=Wanted.PERFORM, id=str(step.pk), queue="")]
    assert ran == [("pick", 1)]


def test_what_arrives_before_the_run_waits_is_seen_and_the_step_is_queued_once(
    sent: list[Wake],
) -> None:
    """Row 8 is refused: the pass reads again, and asks for the same step again."""
    during["pick"] = lambda: flows.load("p1").signal("word", None)

    handle = started(Parcel)

    assert statuses(handle.run_id) == [ActionStatus.COMPLETED, ActionStatus.PENDING]
    assert [wake.kind for wake in sent].count(Wanted.PERFORM) == 1
    assert FlowRun.objects.get(pk=handle.run_id).position == 2


def test_an_interrupt_before_the_run_waits_leaves_the_step_to_be_queued_later(
    sent: list[Wake],
) -> None:
    during["pick"] = lambda: flows.load("p1").interrupt()
    handle = started(Parcel)
    assert handle.status is FlowStatus.INTERRUPTED
    assert statuses(handle.run_id) == [ActionStatus.COMPLETED]

    during.clear()
    handle.resume()
    client.drive(handle.run_id)

    assert handle.refresh().output() == "packed"


def test_a_delivery_meanwhile_sends_no_second_job(sent: list[Wake]) -> None:
    handle = started(Parcel)
    handle.signal("word", None)

    jobs.drive(str(handle.run_id))

    assert [wake.kind for wake in sent].count(Wanted.PERFORM) == 1
    assert handle.refresh().status is FlowStatus.WAITING


# ------------------------------------------------------------------ performed


def test_who_performed_it_drives_the_run_on_and_sends_no_job_for_that(
    sent: list[Wake],
) -> None:
    handle = started(Parcel)
    sent.clear()

    pack(handle)

    assert handle.refresh().output() == "packed"
    assert ran == [("pick", 1), ("pack", 1), ("pick", 1)]
    assert sent == []


def test_a_step_of_another_queue_hands_the_run_back_to_its_own(
    sent: list[Wake],
) -> None:
    handle = started(Elsewhere, queue="runs")
    assert sent[-1].queue == "hall"
    sent.clear()

    pack(handle)

    assert handle.refresh().status is FlowStatus.WAITING
    assert sent == [Wake(kind=Wanted.DRIVE, id=str(handle.run_id), queue="runs")]
    jobs.drive(str(handle.run_id))
    assert handle.refresh().output() == "packed"


def test_a_job_that_is_cut_off_leaves_the_run_to_another(sent: list[Wake]) -> None:
    class TimeOver(SystemExit):
        pass

    def cut_off() -> None:
        raise TimeOver

    handle = started(Parcel)
    sent.clear()
    during["pack"] = cut_off

    with pytest.raises(TimeOver):
        pack(handle)

    assert sent == [Wake(kind=Wanted.DRIVE, id=str(handle.run_id), queue="")]
    assert the_step(handle).status == ActionStatus.FAILED
    client.drive(handle.run_id)
    assert handle.refresh().failed()


def test_a_job_that_comes_twice_or_late_changes_nothing(sent: list[Wake]) -> None:
    handle = started(Parcel)
    seen: list[object] = []

    def a_second_one() -> None:
        before = dump(handle.run_id)
        pack(handle)
        seen.append(dump(handle.run_id) == before)

    during["pack"] = a_second_one
    pack(handle)
    assert seen == [True]

    before = dump(handle.run_id)
    pack(handle)
    jobs.perform("999999999")
    assert dump(handle.run_id) == before
    assert ran.count(("pack", 1)) == 1


def test_a_lost_job_is_made_up_for_and_not_before_it_may_be_lost(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    handle = started(Parcel)
    sent.clear()

    time.advance(timedelta(seconds=10))
    sweeps.run("due_work")
    assert sent == []

    time.advance(timedelta(seconds=10))
    sweeps.run("due_work")
    assert [wake.kind for wake in sent] == [Wanted.PERFORM]
    jobs.execute(sent[0])
    assert handle.refresh().output() == "packed"


# ------------------------------------------------------------------ tried again


def test_a_try_that_failed_is_made_again_and_not_before_it_is_due(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    during["pack"] = decline_once
    handle = started(Patient, LONG)
    sent.clear()
    pack(handle)

    [again] = sent
    assert (again.kind, again.not_before) == (Wanted.PERFORM, time.now + LONG)
    before = dump(handle.run_id)
    time.advance(LONG - timedelta(seconds=1))
    jobs.execute(again)
    assert dump(handle.run_id) == before

    time.advance(timedelta(seconds=1))
    sweeps.run("due_work")
    assert len(sent) == 2
    jobs.execute(again)
    assert handle.refresh().output() == "packed"
    assert ran == [("pack", 1), ("pack", 2)]


def die(handle: Handle[Any]) -> None:
    """A worker that is no more has taken the step."""
    assert claims.claim_step(the_step(handle).pk, uuid4()) is not None


@pytest.mark.covers("L-RECL-3")
def test_a_step_whose_worker_died_is_tried_again() -> None:
    handle = started(Parcel)
    die(handle)

    pack(handle)

    step = the_step(handle)
    assert (step.attempt, step.lost_attempts) == (2, 1)
    tries = ActionAttempt.objects.filter(run=handle.run_id)
    assert list(tries.values_list("attempt", "outcome")) == [(1, "lost")]
    assert handle.refresh().output() == "packed"


def test_a_step_that_is_not_to_be_tried_again_fails_in_doubt() -> None:
    handle = started(Once)
    die(handle)

    pack(handle)

    step = the_step(handle)
    assert (step.status, step.in_doubt) == (ActionStatus.FAILED, True)
    assert "attempt 1 died" in (step.error or "")
    assert ran == []
    assert handle.refresh().failed()


# ------------------------------------------------------------------ ended meanwhile


def test_no_job_claims_the_step_of_a_run_that_was_cancelled() -> None:
    handle = started(Parcel)
    handle.cancel()

    before = dump(handle.run_id)
    pack(handle)

    assert dump(handle.run_id) == before
    assert statuses(handle.run_id) == [ActionStatus.COMPLETED, ActionStatus.CANCELLED]


def test_a_step_that_completes_under_the_rollback_is_undone_first() -> None:
    handle = started(Parcel)
    during["pack"] = handle.compensate

    pack(handle)

    assert handle.refresh().status is FlowStatus.CANCELLED
    assert ran[1:] == [("pack", 1), ("undo packed", 1), ("undo picked", 1)]
    assert statuses(handle.run_id) == [ActionStatus.COMPLETED] * 2


def test_a_step_that_fails_under_the_rollback_is_not_tried_again(
    sent: list[Wake],
) -> None:
    def compensated() -> None:
        flows.load("p1").compensate()
        decline_once()

    handle = started(Patient, LONG)
    during["pack"] = compensated
    sent.clear()

    pack(handle)

    assert handle.refresh().status is FlowStatus.CANCELLED
    assert Wanted.PERFORM not in {wake.kind for wake in sent}
    assert ran == [("pack", 1)]


def test_a_step_waits_while_its_run_is_interrupted(sent: list[Wake]) -> None:
    handle = started(Parcel)
    handle.interrupt()
    before = dump(handle.run_id)
    pack(handle)
    assert dump(handle.run_id) == before
    sent.clear()

    handle.resume()

    assert {wake.kind for wake in sent} == {Wanted.PERFORM, Wanted.DRIVE}
    for wake in sent:
        jobs.execute(wake)
    assert handle.refresh().output() == "packed"


def test_an_outcome_that_comes_while_the_run_is_interrupted_counts() -> None:
    handle = started(Parcel)
    during["pack"] = handle.interrupt
    pack(handle)
    assert handle.refresh().status is FlowStatus.INTERRUPTED

    handle.resume()
    client.drive(handle.run_id)

    assert handle.refresh().output() == "packed"
    assert ran.count(("pack", 1)) == 1


def test_a_run_that_is_overdue_ends_without_its_step(time: clock.FakeClock) -> None:
    handle = started(Parcel, expires_in=LONG)
    time.advance(LONG)

    jobs.drive(str(handle.run_id))
    pack(handle)

    assert handle.refresh().status is FlowStatus.EXPIRED
    assert ran == [("pick", 1), ("undo picked", 1)]


# ------------------------------------------------------------------ in one process


@pytest.mark.parametrize("flow", [Parcel, Elsewhere], ids=["parcel", "elsewhere"])
def test_run_sync_needs_no_other_process(flow: type[Workflow]) -> None:
    start: Any = flow.using(instance_id="p1")

    assert start.run_sync().output() == "packed"


def test_run_sync_sits_out_a_short_delay_and_leaves_a_long_one(
    time: clock.FakeClock,
) -> None:
    during["pack"] = decline_once
    short = Patient.using(instance_id="short").run_sync(timedelta(seconds=1))
    long = Patient.using(instance_id="long").run_sync(LONG)
    assert short.output() == "packed"
    assert long.status is FlowStatus.WAITING

    time.advance(LONG)
    client.drive(long.run_id)

    assert long.refresh().output() == "packed"


def test_run_sync_makes_up_for_a_worker_that_died() -> None:
    handle = started(Parcel)
    die(handle)

    client.drive(handle.run_id)

    assert handle.refresh().output() == "packed"


@pytest.mark.covers("L-RECL-1")
def test_run_sync_leaves_a_step_that_a_live_worker_has() -> None:
    handle = started(Parcel)
    claims.claim_step(the_step(handle).pk, workers.ensure())

    client.drive(handle.run_id)

    assert handle.refresh().status is FlowStatus.WAITING
    assert ran == [("pick", 1)]


def test_in_a_test_the_delay_of_a_queued_step_takes_no_time() -> None:
    during["pack"] = decline_once

    assert run_workflow(Patient, LONG).output() == "packed"


def test_draining_performs_queued_steps(time: clock.FakeClock) -> None:
    during["pack"] = decline_once
    handle = Patient.using(instance_id="p1").start(LONG)
    assert drain() == 1
    assert handle.refresh().status is FlowStatus.WAITING

    assert drain() == 0
    time.advance(LONG)
    assert drain() == 1

    assert handle.refresh().output() == "packed"


def test_draining_skips_the_delay_if_it_is_told_to() -> None:
    during["pack"] = decline_once
    handle = Patient.using(instance_id="p1").start(LONG)

    drain(skip_time=True)

    assert handle.refresh().output() == "packed"


# ------------------------------------------------------------------ what it costs


def test_a_queued_step_is_two_commits_of_a_bounded_number_of_statements() -> None:
    """BEGIN, COMMIT and savepoints aside; the pass that follows is not counted."""
    handle = started(Parcel)
    step = the_step(handle).pk

    with counted() as cost:
        perform.perform(step)

    assert cost.commits == 2
    assert len(cost.statements) <= 15, cost.statements

"""What actions promise: tries, errors that end them, timers, and starts undone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone
from django_q.models import OrmQ

from saga_flow import (
    QUEUE,
    RESULT,
    ActionFailed,
    NonRetryable,
    Retry,
    Workflow,
    action,
    client,
    clock,
    events,
    jobs,
)
from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowTimer,
)
from saga_flow.serialization.failures import Failure
from saga_flow.store import claims

pytestmark = pytest.mark.django_db(transaction=True)

LONG = timedelta(hours=1)
ran: list[str] = []


@pytest.fixture(autouse=True)
def time() -> Iterator[clock.FakeClock]:
    ran.clear()
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


class Forged(NonRetryable):
    """A card that no second try makes better."""


@action(
    name="promises.pay", dispatch=QUEUE, retry=Retry(attempts=3, delay=LONG, backoff=1)
)
def pay(how: str) -> str:
    """Pay, or not."""
    ran.append(f"pay {how}")
    if how == "forged":
        raise Forged("not a real card")
    if how == "late":
        return "paid"
    raise RuntimeError("no line")


@action(name="promises.give_back", retry=Retry(attempts=3, delay=LONG))
def give_back(paid: str) -> None:
    """Undo."""
    ran.append(f"give back {paid}")


class Paying(Workflow):
    """One queued step."""

    class Meta:
        """Its name."""

        name = "promises.paying"

    def handle(self, how: str) -> str:
        """Pay, and say what went wrong."""
        try:
            return self.action(pay, how).compensate_with(give_back, RESULT).run()
        except ActionFailed as error:
            return f"{error.type} at {error.attempt}: {error.message}"


def perform(run: Any) -> None:
    step = ActionRun.objects.get(run=run)
    jobs.perform(str(step.pk))


@pytest.mark.covers("D-ACT-1")
def test_the_policy_stored_with_the_step_counts_and_each_try_once(
    time: clock.FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = Paying.using(instance_id="p1").start("badly")
    jobs.drive(str(handle.run_id))
    # a deploy that would never try again
    monkeypatch.setattr(pay, "declared", pay.using(retry=Retry()).declared)

    for number in (1, 2, 3):
        perform(handle.run_id)
        perform(handle.run_id)  # not due: nothing is counted
        assert ActionRun.objects.get().attempt == number
        time.advance(LONG)

    assert handle.refresh().output() == "RuntimeError at 3: no line"
    assert ran == ["pay badly"] * 3
    tries = ActionAttempt.objects.order_by("attempt").values_list("attempt", "outcome")
    assert list(tries) == [(1, "failed"), (2, "failed"), (3, "failed")]


@pytest.mark.covers("D-ACT-5")
def test_an_error_that_no_try_mends_ends_them_is_marked_and_reaches_the_caller() -> (
    None
):
    handle = Paying.using(instance_id="p1").run_sync("forged")

    assert handle.output() == "Forged at 1: not a real card"
    assert ran == ["pay forged"]
    failure = Failure.from_json(ActionRun.objects.get().error or "")
    assert failure.non_retryable


def test_an_error_that_another_try_may_mend_is_not_marked() -> None:
    handle = Paying.using(instance_id="p1").start("badly")
    jobs.drive(str(handle.run_id))
    perform(handle.run_id)

    failure = Failure.from_json(ActionAttempt.objects.get().error or "")
    assert not failure.non_retryable


class Timed(Workflow):
    """Timers, of which the first is over at once."""

    class Meta:
        """Its name."""

        name = "promises.timed"

    def handle(self) -> None:
        """Sleep three times."""
        ran.append("zero")
        self.sleep(timedelta())
        self.sleep(LONG)
        self.side_effect("first", lambda: ran.append("first"))
        self.sleep(2 * LONG)
        self.side_effect("second", lambda: ran.append("second"))
        self.sleep(LONG)


@pytest.mark.covers("D-ACT-6")
def test_a_timer_of_zero_is_over_timers_run_in_order_and_the_end_cancels_them(
    time: clock.FakeClock,
) -> None:
    handle = Timed.using(instance_id="t1").run_sync()
    timers = FlowTimer.objects.filter(run=handle.run_id).order_by("sequence")
    assert list(timers.values_list("sequence", "status")) == [
        (0, "fired"),
        (1, "pending"),
    ]

    time.advance(LONG)
    client.drive(handle.run_id)
    assert ran[-1] == "first"
    time.advance(LONG)
    client.drive(handle.run_id)
    assert ran[-1] != "second"
    time.advance(LONG)
    client.drive(handle.run_id)
    assert ran[-1] == "second"
    handle.cancel()

    assert list(timers.values_list("status", flat=True)) == [
        *["fired"] * 3,
        "cancelled",
    ]


class Regretted(Workflow):
    """A step that is undone later."""

    class Meta:
        """Its name."""

        name = "promises.regretted"

    def handle(self) -> None:
        """Pay, and wait."""
        self.action(pay, "late").compensate_with(give_back, RESULT).run()
        self.signal("go").wait()


@pytest.mark.covers("L-RECL-5")
def test_a_step_and_its_undo_are_taken_up_independently_of_each_other() -> None:
    handle = Regretted.using(instance_id="r1").start()
    jobs.drive(str(handle.run_id))
    step = ActionRun.objects.get()
    # its first worker died in the body
    assert claims.claim_step(step.pk, uuid4()) is not None
    perform(handle.run_id)
    step.refresh_from_db()
    assert (step.status, step.attempt, step.lost_attempts) == ("completed", 2, 1)

    handle.compensate()
    # and so did the first worker of its undo
    undos = CompensationRun.objects.filter(run=handle.run_id)
    undos.update(status="running", attempt=1, worker=uuid4(), token=-7)
    client.drive(handle.run_id)

    undo = undos.get()
    assert (undo.status, undo.attempt, undo.lost_attempts) == ("completed", 2, 1)
    step.refresh_from_db()
    assert (step.attempt, step.lost_attempts) == (2, 1)
    assert ran == ["pay late", "give back paid"]
    assert handle.refresh().cancelled()


@pytest.mark.covers("D-START-11")
def test_a_start_that_its_caller_takes_back_was_never_there() -> None:
    class TakenBack(Exception):
        """What the caller raises."""

    told: list[str] = []

    def hear(event: events.Event, **_: Any) -> None:
        told.append(event.type)

    def begin() -> None:
        with transaction.atomic():
            Paying.using(instance_id="p1").start("late")
            raise TakenBack

    for signal in events.SIGNALS.values():
        signal.connect(hear)
    with pytest.raises(TakenBack):
        begin()
    for signal in events.SIGNALS.values():
        signal.disconnect(hear)

    assert told == []
    assert not OrmQ.objects.exists()
    assert not FlowRun.objects.exists()
    assert not FlowCommand.objects.exists()
    assert not FlowEvent.objects.exists()
    Paying.using(instance_id="p1").start("late")
    assert FlowRun.objects.count() == 1

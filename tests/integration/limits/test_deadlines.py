"""Deadlines of runs, steps and waits: stored, kept, and enforced once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from saga_flow import (
    INLINE,
    QUEUE,
    ActionExpired,
    Retry,
    SignalTimedOut,
    Workflow,
    action,
    client,
    clock,
    jobs,
    sweeps,
)
from saga_flow.authoring.handle import Handle
from saga_flow.models import ActionRun, FlowRun, FlowSignal
from saga_flow.records import Dispatch
from saga_flow.testing import fake_clock, run_workflow
from tests.support.rows import dump

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
SLOW = Retry(attempts=5, delay=timedelta(minutes=40), backoff=1)

ran: list[str] = []


@pytest.fixture(autouse=True)
def time() -> Iterator[clock.FakeClock]:
    ran.clear()
    with fake_clock() as fake:
        yield fake


def _supplier(**options: Any) -> Any:
    @action(name="limits.ask", **{"retry": SLOW, "expires_in": HOUR, **options})
    def ask() -> str:
        ran.append("ask")
        raise ConnectionError("no answer")

    return ask


@action(name="limits.reserve")
def reserve() -> str:
    ran.append("reserve")
    return "reserved"


@action(name="limits.undo")
def undo(what: str | None) -> None:
    ran.append(f"undo {what}")


def _asking(ask: Any) -> type[Workflow]:
    class Asking(Workflow):
        class Meta:
            name = "limits.asking"

        def handle(self, *, own: bool = False) -> str:
            self.action(reserve).compensate_with(undo, "reserve").run()
            step = self.action(ask)
            if own:
                step = step.compensate_with(undo, "ask").compensate_on_own_failure()
            return str(step.run())

    return Asking


def _waiting() -> type[Workflow]:
    class Waiting(Workflow):
        class Meta:
            name = "limits.waiting"

        def handle(self, *, undone: bool = False) -> str:
            if undone:
                self.action(reserve).compensate_with(undo, "reserve").run()
            return self.signal("word", str).wait()

    return Waiting


def the_step() -> ActionRun:
    return ActionRun.objects.get(name="limits.ask")


def lines(handle: Handle[Any], about: str) -> list[str]:
    return [line.type for line in handle.history() if line.type.startswith(about)]


# -------------------------------------------------------------------------- a step


@pytest.mark.covers("M-DL-1", "M-DL-2")
def test_a_step_past_its_deadline_expires_and_what_was_done_before_is_undone() -> None:
    handle = run_workflow(_asking(_supplier()))

    step = the_step()
    assert step.expires_at == step.created_at + HOUR
    # the first try at once, the second after 40 minutes; a third would come too late
    assert ran == ["reserve", "ask", "ask", "undo reserve"]
    assert (step.status, step.attempt, step.available_at) == ("expired", 2, None)
    assert handle.failed()
    assert handle.error is not None
    assert handle.error["type"] == "ActionExpired"
    assert handle.error["step"] == 1
    assert "it had until" in handle.error["message"]
    assert lines(handle, "action.expired") == ["action.expired"]
    assert lines(handle, "action.attempt_failed") == ["action.attempt_failed"]


@pytest.mark.parametrize("own", [True, False])
def test_an_expired_step_is_itself_undone_only_where_it_asked_for_that(
    own: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    run_workflow(_asking(_supplier()), own=own)

    undone = [what for what in ran if what.startswith("undo")]
    assert undone == (["undo ask"] if own else []) + ["undo reserve"]


@pytest.mark.covers("M-DL-3")
def test_an_expired_optional_step_gives_its_fallback(time: clock.FakeClock) -> None:
    ask = _supplier(optional=True, fallback="nothing")

    handle = run_workflow(_asking(ask))

    assert handle.output() == "nothing"
    assert the_step().status == "expired"
    assert lines(handle, "action.expired") == ["action.expired"]
    assert lines(handle, "action.given_up") == []


def test_an_expired_step_is_caught_the_same_way_on_every_replay() -> None:
    ask, told = _supplier(retry=Retry(attempts=9, delay=2 * HOUR)), []

    class Patient(Workflow):
        class Meta:
            name = "limits.patient"

        def handle(self) -> str:
            try:
                self.action(ask).run()
            except ActionExpired as error:
                told.append(str(error))
            return self.signal("go", str).wait()

    handle = run_workflow(Patient)
    handle.signal("go", "on")
    client.drive(handle.run_id)

    assert handle.refresh().output() == "on"
    assert ran == ["ask"]
    assert told[0] == told[1]
    assert told[0].count("expired") == 1


def test_a_try_that_was_put_off_is_not_made_past_the_deadline(
    time: clock.FakeClock,
) -> None:
    """Nobody came to it in time: all workers were away."""
    handle = _asking(_supplier()).start()
    client.drive(handle.run_id)
    assert handle.refresh().snapshot.wait_kind == "retry"
    time.advance(HOUR)

    client.drive(handle.run_id)

    assert the_step().status == "expired"
    assert ran == ["reserve", "ask", "undo reserve"]
    assert handle.refresh().failed()


def test_a_deadline_is_stored_once_and_no_retry_moves_it(time: clock.FakeClock) -> None:
    handle = _asking(_supplier()).start()
    client.drive(handle.run_id)
    stored = the_step().expires_at

    time.advance(timedelta(minutes=40))
    client.drive(handle.run_id)

    assert the_step().attempt == 2
    assert the_step().expires_at == stored


def test_a_failure_for_good_before_the_deadline_is_a_failure() -> None:
    handle = run_workflow(_asking(_supplier(retry=Retry(attempts=2))))

    assert the_step().status == "failed"
    assert handle.error is not None
    assert handle.error["type"] == "ActionFailed"


def test_a_queued_step_that_nobody_came_to_is_expired_by_the_sweep(
    time: clock.FakeClock,
) -> None:
    handle = _asking(_supplier(dispatch=QUEUE)).start()
    jobs.drive(str(handle.run_id))
    time.advance(HOUR)

    jobs.perform(str(the_step().pk))  # its job comes too late, and begins nothing
    assert the_step().attempt == 0
    assert dict(sweeps.run("deadlines").counts)["steps"] == 1
    assert sweeps.run("deadlines").touched == 0
    client.drive(handle.run_id)

    assert the_step().status == "expired"
    assert handle.refresh().failed()
    assert ran == ["reserve", "undo reserve"]
    assert not the_step().in_doubt


@pytest.mark.parametrize("dispatch", [INLINE, QUEUE])
def test_a_body_that_is_late_is_refused_and_listed(
    time: clock.FakeClock, dispatch: Dispatch
) -> None:
    swept: list[int] = []
    meanwhile: list[tuple[Any, bool]] = []

    @action(name="limits.ask", expires_in=HOUR, dispatch=dispatch)
    def ask() -> str:
        ran.append("ask")
        time.advance(HOUR)
        swept.append(dict(sweeps.run("deadlines").counts)["steps"])
        run = FlowRun.objects.get()
        meanwhile.append((run.lease_owner, run.wake_at is None))
        return "too late"

    handle = _asking(ask).start()
    client.drive(handle.run_id)
    client.drive(handle.run_id)

    assert swept == [1]
    # free for another worker, however long the body goes on
    assert meanwhile == [(None, False)]
    step = the_step()
    assert (step.status, step.result, step.in_doubt) == ("expired", None, True)
    assert handle.refresh().failed()
    assert ran == ["reserve", "ask", "undo reserve"]
    assert lines(handle, "action.outcome_rejected") == ["action.outcome_rejected"]
    assert FlowRun.objects.get().attention


# --------------------------------------------------------------------------- a run


@pytest.mark.covers("M-DL-4", "D-LIM-4")
def test_an_overdue_run_with_nothing_to_undo_expires_at_once(
    time: clock.FakeClock,
) -> None:
    handle = run_workflow(_waiting().using(expires_in=HOUR))
    assert handle.status == "waiting"
    time.advance(HOUR)

    report = sweeps.run("deadlines")

    assert dict(report.counts)["expired"] == 1
    assert handle.refresh().expired()
    assert handle.closed_reason == "timed_out"
    # what was open is cancelled with it
    assert FlowSignal.objects.get().status == "cancelled"
    assert FlowRun.objects.get().wake_at is None


@pytest.mark.covers("M-DL-5", "M-DL-6")
def test_an_overdue_run_is_rolled_back_first_and_the_second_sweep_finds_nothing(
    time: clock.FakeClock,
) -> None:
    handle = run_workflow(_waiting().using(expires_in=HOUR), undone=True)
    time.advance(HOUR)

    assert dict(sweeps.run("deadlines").counts)["rolling_back"] == 1
    assert handle.refresh().status == "cancelling"
    before = dump(handle.run_id)
    assert sweeps.run("deadlines").touched == 0
    assert dump(handle.run_id) == before

    client.drive(handle.run_id)
    assert handle.refresh().expired()
    assert ran == ["reserve", "undo reserve"]
    before = dump(handle.run_id)
    assert sweeps.run("deadlines").touched == 0
    assert dump(handle.run_id) == before


@pytest.mark.covers("M-DL-7")
def test_the_command_says_what_it_expired_and_what_rolls_back(
    time: clock.FakeClock,
) -> None:
    one = run_workflow(_waiting().using(expires_in=HOUR))
    two = run_workflow(_waiting().using(expires_in=HOUR), undone=True)
    time.advance(HOUR)

    out = io.StringIO()
    call_command("saga_sweep", "deadlines", stdout=out)

    assert "expired: 1" in out.getvalue()
    assert "rolling_back: 1" in out.getvalue()
    assert one.refresh().expired()
    assert two.refresh().status == "cancelling"


@pytest.mark.covers("M-DL-11")
@pytest.mark.parametrize("undone", [True, False])
def test_a_worker_that_comes_to_an_overdue_run_expires_it_instead_of_driving_it(
    time: clock.FakeClock,
    undone: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    handle = run_workflow(_waiting().using(expires_in=HOUR), undone=undone)
    handle.signal("word", "too late")
    time.advance(HOUR)

    client.drive(handle.run_id)

    assert handle.refresh().expired()
    assert ran == (["reserve", "undo reserve"] if undone else [])
    delivery = FlowSignal.objects.get(received_seq__isnull=False)
    assert delivery.status == "received"


# -------------------------------------------------------------------------- a wait


@pytest.mark.covers("M-DL-8", "M-DL-9")
@pytest.mark.parametrize("caught", [True, False])
def test_a_wait_that_times_out(
    time: clock.FakeClock,
    caught: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    class Asking(Workflow):
        class Meta:
            name = "limits.answer"

        def handle(self) -> str:
            try:
                return self.signal("answer", str).wait(timeout=HOUR)
            except SignalTimedOut:
                if not caught:
                    raise
                return "none"

    handle = run_workflow(Asking)
    time.advance(HOUR)
    client.drive(handle.run_id)
    assert handle.refresh().status == ("completed" if caught else "failed")
    if caught:
        assert handle.output() == "none"
    else:
        assert handle.error is not None
        assert handle.error["type"] == "SignalTimedOut"
    assert lines(handle, "signal.timed_out") == ["signal.timed_out"]


# -------------------------------------------------------------------- the settings


DEFAULTS = {
    "RUN_EXPIRES_IN": 3 * HOUR,
    "STEP_EXPIRES_IN": 2 * HOUR,
    "SIGNAL_TIMEOUT": HOUR,
}


def _spans(handle: Handle[Any]) -> list[timedelta | None]:
    """How long the run, its step and its wait have."""
    run, step = FlowRun.objects.get(pk=handle.run_id), ActionRun.objects.get()
    wait = FlowSignal.objects.get()
    ends = ((run, run.expires_at), (step, step.expires_at), (wait, wait.timeout_at))
    return [None if end is None else end - row.created_at for row, end in ends]


def _limited(limit: Any) -> type[Workflow]:
    """A run, a step and a wait that say nothing, or *limit*."""
    said = {} if limit == "unsaid" else {"expires_in": limit}
    waits = {} if limit == "unsaid" else {"timeout": limit}

    @action(name="limits.short", **said)
    def short() -> None: ...

    class Limited(Workflow):
        Meta = type("Meta", (), {"name": "limits.limited", **said})

        def handle(self) -> None:
            self.action(short).run()
            self.signal("word").wait(**waits)

    return Limited


@pytest.mark.covers("M-DL-10")
@pytest.mark.parametrize(
    ("settings", "said", "spans"),
    [
        ({}, "unsaid", [None, None, None]),
        (DEFAULTS, "unsaid", list(DEFAULTS.values())),
        (DEFAULTS, timedelta(minutes=1), [timedelta(minutes=1)] * 3),
        (DEFAULTS, None, [None, None, None]),
    ],
    ids=["nothing", "defaults", "explicit", "none"],
)
def test_default_deadlines_apply_where_nothing_else_is_said(
    settings: dict[str, Any], said: Any, spans: list[timedelta | None]
) -> None:
    with override_settings(SAGA_FLOW=settings):
        handle = run_workflow(_limited(said))

    assert _spans(handle) == spans


@pytest.mark.parametrize("limit", [None, timedelta(minutes=2)])
def test_what_a_call_says_goes_before_what_the_definition_says(
    limit: timedelta | None,
) -> None:
    ask = _supplier().using(expires_in=limit, retry=Retry(attempts=1))

    with override_settings(SAGA_FLOW=DEFAULTS):
        handle = run_workflow(_asking(ask).using(expires_in=limit))

    step, run = the_step(), FlowRun.objects.get(pk=handle.run_id)
    assert step.expires_at == (limit and step.created_at + limit)
    assert run.expires_at == (limit and run.created_at + limit)

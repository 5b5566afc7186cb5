"""What is said of a workflow or an action holds for its runs and steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from saga_flow import INLINE, QUEUE, Retry, Workflow, action, client, events, jobs
from saga_flow.models import ActionRun, FlowRun
from saga_flow.records import Dispatch
from saga_flow.testing import run_workflow
from tests.support.rows import dump

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
ran: list[int] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def _declared() -> type[Workflow]:
    class Declared(Workflow):
        class Meta:
            name = "options.declared"
            version = "7"
            queue = "night"
            expires_in = HOUR
            tags = {"team": "oslo", "kind": "batch"}

        def handle(self) -> None: ...

    return Declared


def _facts(run: FlowRun) -> tuple[Any, ...]:
    lasts = None if run.expires_at is None else run.expires_at - run.created_at
    tags = dict(run.tags.values_list("key", "value"))
    return run.workflow_version, run.queue, lasts, tags


@pytest.mark.covers("M-ATT-1")
def test_the_options_of_meta_apply_to_its_runs() -> None:
    handle = _declared().start()

    run = FlowRun.objects.get(pk=handle.run_id)
    version, queue, lasts, tags = _facts(run)
    assert (run.workflow_name, version, queue) == ("options.declared", "7", "night")
    assert lasts is not None
    assert abs(lasts - HOUR) < timedelta(seconds=5)
    assert tags == {"team": "oslo", "kind": "batch"}


@pytest.mark.covers("M-ATT-2")
def test_what_using_is_given_goes_before_meta() -> None:
    handle = (
        _declared()
        .using(version="8", queue="day", expires_in=None, tags={"kind": "single"})
        .start()
    )

    run = FlowRun.objects.get(pk=handle.run_id)
    tags = {"team": "oslo", "kind": "single"}
    assert _facts(run) == ("8", "day", None, tags)


def _trying(dispatch: Dispatch = INLINE) -> type[Workflow]:
    @action(
        name="options.try",
        retry=Retry(attempts=3),
        optional=True,
        fallback="nothing",
        dispatch=dispatch,
        expires_in=HOUR,
    )
    def try_it() -> str:
        ran.append(len(ran) + 1)
        raise RuntimeError("no")

    class Trying(Workflow):
        class Meta:
            name = "options.trying"

        def handle(self) -> str:
            return self.action(try_it).run()

    return Trying


@pytest.mark.covers("M-ATT-3", "M-ATT-4", "M-OPT-1", "M-OPT-2")
def test_an_optional_action_gives_up_without_failing_the_run() -> None:
    told: list[str] = []

    def hear(event: events.Event, **_: Any) -> None:
        told.append(event.type)

    events.action_given_up.connect(hear)
    try:
        handle = run_workflow(_trying())
    finally:
        events.action_given_up.disconnect(hear)

    step = ActionRun.objects.get()
    assert handle.output() == "nothing"
    assert ran == [1, 2, 3]
    assert (step.name, step.status, step.attempt) == (
        "options.try",
        "optional_failed",
        3,
    )
    assert step.expires_at is not None
    given_up = [line.type for line in handle.history() if "given_up" in line.type]
    assert given_up == told == ["action.given_up"]


@pytest.mark.covers("M-OPT-3")
def test_a_queued_optional_step_uses_all_its_tries_before_it_gives_up() -> None:
    handle = _trying(QUEUE).start()
    jobs.drive(str(handle.run_id))
    for tries in (1, 2, 3):
        assert handle.refresh().status == "waiting"
        jobs.perform(str(ActionRun.objects.get().pk))
        assert ran == list(range(1, tries + 1))

    assert handle.refresh().output() == "nothing"
    assert ActionRun.objects.get().status == "optional_failed"


@pytest.mark.covers("M-OPT-4")
@pytest.mark.parametrize("dispatch", [INLINE, QUEUE])
def test_an_optional_step_leaves_the_same_rows_at_once_and_by_jobs(
    dispatch: Dispatch,
) -> None:
    flow = _trying(dispatch)
    here = flow.using(instance_id="here").run_sync()

    later = flow.using(instance_id="later").start()
    jobs.drive(str(later.run_id))
    while later.refresh().status == "waiting":
        jobs.perform(str(ActionRun.objects.get(run=later.run_id).pk))

    assert here.output() == later.output() == "nothing"
    assert dump(here.run_id) == dump(later.run_id)


def _counting() -> type[Workflow]:
    @action(name="options.count")
    def count(number: int) -> None: ...

    @action(name="options.uncount")
    def uncount(number: int) -> None: ...

    class Counting(Workflow):
        class Meta:
            name = "options.counting"

        def handle(self) -> None:
            for number in range(12):
                step = self.action(count, number).compensate_with(uncount, number)
                step.run()
                if number % 4 == 0:
                    self.signal("word").wait()
            raise RuntimeError("undo it all")

    return Counting


def _renumber() -> None:
    """Give the first rows the highest numbers, which then say nothing of the order."""
    for step in ActionRun.objects.order_by("sequence")[:3]:
        old, ordinal = step.pk, step.sequence
        step.pk, step.sequence = 1_000_000 - old, 1_000 + ordinal
        step.save(force_insert=True)
        ActionRun.objects.filter(pk=old).delete()
        ActionRun.objects.filter(pk=step.pk).update(sequence=ordinal)


@pytest.mark.covers("N-16")
def test_steps_signals_and_undos_are_read_by_their_ordinals() -> None:
    handle = _counting().start()
    for _ in range(3):
        handle.signal("word")
    client.drive(handle.run_id)

    _renumber()
    steps = [row.sequence for row in handle.actions()]
    waits = [row.sequence for row in handle.signals() if row.sequence is not None]
    undone = [row.sequence for row in handle.compensations()]
    assert len(steps) == 12
    assert steps == sorted(steps)
    assert waits == sorted(waits)
    assert undone == sorted(undone, reverse=True)

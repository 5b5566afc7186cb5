"""Steps one after another, and the ordinals that they get."""

from __future__ import annotations

import pytest

from saga_flow import RESULT, Retry, Workflow, action, client
from saga_flow.exceptions import ActionFailed, NotInWorkflow
from saga_flow.models import ActionRun, FlowRun
from saga_flow.testing import run_workflow, send_signal
from tests.integration.acceptance.conftest import Play
from tests.integration.acceptance.journal import lines
from tests.support.rows import dump


def _two_steps() -> type[Workflow]:
    @action(name="acceptance.double")
    def double(number: int) -> int:
        return 2 * number

    @action(name="acceptance.describe")
    def describe(number: int) -> str:
        return f"It is {number}."

    class TwoSteps(Workflow):
        class Meta:
            name = "acceptance.two_steps"

        def handle(self, number: int) -> str:
            doubled = self.action(double, number).run()
            return self.action(describe, doubled).run()

    return TwoSteps


def _everything() -> type[Workflow]:
    """A retry, a value, a signal, an optional step, a failure and its rollback."""
    tries: list[int] = []

    @action(name="acceptance.flaky", retry=Retry(attempts=2))
    def flaky() -> int:
        tries.append(1)
        if len(tries) % 2:
            raise OSError("away")
        return 7

    @action(name="acceptance.undo_flaky")
    def undo_flaky(number: int) -> None: ...

    @action(name="acceptance.decline")
    def decline() -> None:
        raise ValueError("declined")

    class Everything(Workflow):
        class Meta:
            name = "acceptance.everything"

        def handle(self) -> None:
            step = self.action(flaky).compensate_with(undo_flaky, RESULT)
            number = step.run()
            self.tag("number", str(number))
            self.side_effect("dice", lambda: 4)
            self.summary("asking")
            self.signal("word", str).wait()
            self.action(decline).optional(fallback="well").run()
            self.action(decline).run()

    return Everything


@pytest.mark.covers("M-EXE-1", "M-ORD-1")
@pytest.mark.django_db
def test_two_steps_complete_synchronously_in_consecutive_ordinals() -> None:
    handle = _two_steps().using(instance_id="one").run_sync(21)

    assert handle.output() == "It is 42."
    steps = ActionRun.objects.order_by("pk").values_list("sequence", "name", "status")
    assert list(steps) == [
        (0, "acceptance.double", "completed"),
        (1, "acceptance.describe", "completed"),
    ]
    assert FlowRun.objects.get().position == 2


@pytest.mark.covers("M-EXE-3")
@pytest.mark.django_db(transaction=True)
def test_two_steps_leave_the_same_rows_when_they_are_queued(work: Play) -> None:
    flow = _two_steps()

    here = flow.using(instance_id="here").run_sync(21)
    queued = work(flow.using(instance_id="queued").start(21))

    assert queued.output() == "It is 42."
    assert dump(here.run_id) == dump(queued.run_id)


@pytest.mark.covers("M-EXE-3")
@pytest.mark.django_db(transaction=True)
def test_a_rollback_after_a_signal_leaves_the_same_rows_too(work: Play) -> None:
    flow = _everything()

    here = flow.using(instance_id="here").run_sync()
    here.signal("word", "go")
    client.drive(here.run_id)
    queued = work(flow.using(instance_id="queued").start())
    queued.signal("word", "go")
    work(queued)

    assert here.refresh().failed()
    assert here.compensation_state == "completed"
    assert dump(here.run_id) == dump(queued.run_id)


@pytest.mark.covers("M-EXE-4")
@pytest.mark.django_db
def test_a_business_error_fails_the_run_before_any_later_step() -> None:
    calls: list[str] = []

    @action(name="acceptance.decline")
    def decline() -> None:
        raise ValueError("declined")

    @action(name="acceptance.later")
    def later() -> None:
        calls.append("later")

    class Failing(Workflow):
        class Meta:
            name = "acceptance.failing"

        def handle(self) -> None:
            self.action(decline).run()
            self.action(later).run()

    handle = run_workflow(Failing)

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["cause"] == {
        "type": "ValueError",
        "message": "declined",
        "attempt": 1,
    }
    assert [row.name for row in handle.actions()] == ["acceptance.decline"]
    assert calls == []


@pytest.mark.covers("M-EXE-5")
@pytest.mark.django_db
def test_code_that_catches_every_exception_does_not_catch_a_suspension() -> None:
    caught: list[str] = []

    class Greedy(Workflow):
        class Meta:
            name = "acceptance.greedy"

        def handle(self) -> str:
            try:
                return self.signal("word", str).wait()
            except Exception as error:  # noqa: BLE001 - what must not help
                caught.append(repr(error))
                return "caught"

    handle = run_workflow(Greedy)

    assert handle.status == "waiting"
    assert handle.error is None
    assert send_signal(handle, "word", "go").output() == "go"
    assert caught == []


@pytest.mark.covers("M-EXE-5")
@pytest.mark.django_db
def test_no_engine_call_is_carried_out_while_a_suspension_unwinds() -> None:
    calls: list[str] = []

    @action(name="acceptance.clean_up")
    def clean_up() -> None:
        calls.append("clean_up")

    class Tidy(Workflow):
        class Meta:
            name = "acceptance.tidy"

        def handle(self) -> str:
            try:
                return self.signal("word", str).wait()
            finally:
                self.action(clean_up).run()

    handle = run_workflow(Tidy)

    assert handle.status == "waiting"
    assert calls == []
    assert send_signal(handle, "word", "go").output() == "go"
    assert calls == ["clean_up"]


@pytest.mark.django_db
def test_a_failure_surfaces_alike_in_the_pass_that_made_it_and_in_replay() -> None:
    seen: list[tuple[str, int, str, str, int]] = []

    @action(name="acceptance.decline", retry=Retry(attempts=2))
    def decline() -> None:
        raise ValueError("declined")

    class Catching(Workflow):
        class Meta:
            name = "acceptance.catching"

        def handle(self) -> str:
            try:
                self.action(decline).run()
            except ActionFailed as error:
                told = (error.name, error.sequence, error.type, error.message)
                seen.append((*told, error.attempt))
            return self.signal("word", str).wait()

    handle = send_signal(run_workflow(Catching), "word", "go")

    assert handle.completed()
    assert seen == [("acceptance.decline", 0, "ValueError", "declined", 2)] * 2


@pytest.mark.covers("M-ORD-1")
@pytest.mark.django_db
def test_every_engine_call_takes_the_next_ordinal() -> None:
    handle = run_workflow(_everything())
    handle = send_signal(handle, "word", "go")

    recorded = [
        *[row.sequence for row in handle.actions()],
        *[row.sequence for row in handle.signals() if not row.is_delivery],
        *[
            line.step
            for line in handle.history()
            if line.type == "side_effect.recorded"
        ],
    ]
    assert sorted(recorded) == [0, 1, 2, 3, 4]


@pytest.mark.covers("M-ORD-2")
@pytest.mark.django_db
def test_each_pass_counts_from_zero_again() -> None:
    seen: list[list[int]] = []

    @action(name="acceptance.note")
    def note() -> None: ...

    class Counting(Workflow):
        class Meta:
            name = "acceptance.counting"

        def handle(self) -> None:
            seen.append([])
            for _ in range(3):
                self.action(note).run()
                seen[-1].append(self.info.history_size)
                self.signal("next").wait()

    handle = run_workflow(Counting)
    for _ in range(3):
        handle = send_signal(handle, "next")

    assert handle.completed()
    assert seen == [[1], [1, 3], [1, 3, 5], [1, 3, 5]]
    assert lines(handle, "action.started") == [
        ("action.started", 0),
        ("action.started", 2),
        ("action.started", 4),
    ]


@pytest.mark.covers("M-ORD-3")
@pytest.mark.django_db
def test_an_engine_call_outside_a_workflow_says_where_it_belongs() -> None:
    flow = _everything()()

    with pytest.raises(NotInWorkflow, match="The engine drives handle"):
        flow.signal("word")
    assert not FlowRun.objects.exists()


@pytest.mark.covers("M-ORD-4")
@pytest.mark.django_db
def test_two_runs_in_one_process_share_no_state() -> None:
    class Collecting(Workflow):
        class Meta:
            name = "acceptance.collecting"

        def __init__(self) -> None:
            self.words: list[str] = []

        def handle(self, name: str) -> list[str]:
            for _ in range(2):
                self.words.append(name + self.signal("word", str).wait())
            return self.words

    one = run_workflow(Collecting, "one ")
    two = run_workflow(Collecting, "two ")
    for word in ("a", "b"):
        one = send_signal(one, "word", word)
        two = send_signal(two, "word", word.upper())

    assert one.output() == ["one a", "one b"]
    assert two.output() == ["two A", "two B"]

"""What is undone, in which order, and what becomes of undos that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from saga_flow import (
    CONTINUE,
    RESULT,
    STOP,
    NonRetryable,
    Workflow,
    action,
    client,
)
from saga_flow.authoring.handle import Handle
from saga_flow.exceptions import DefinitionError
from saga_flow.models import CompensationRun
from saga_flow.testing import (
    assert_compensated,
    drain,
    fake_action,
    run_workflow,
    send_signal,
)
from tests.integration.acceptance.conftest import Play
from tests.integration.acceptance.journal import lines
from tests.support.rows import dump


class Stage:
    """Steps a, b and c with their undos, and what took effect."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        effects = self.effects

        @action(name="acceptance.do")
        def do(what: str) -> str:
            effects.append(what)
            return f"<{what}>"

        @action(name="acceptance.undo")
        def undo(result: str | None) -> None:
            effects.append(f"undo {result}")

        @action(name="acceptance.fragile_undo")
        def fragile_undo(result: str) -> None:
            effects.append(f"try {result}")
            raise NonRetryable("too late")

        @action(name="acceptance.decline")
        def decline() -> None:
            effects.append("decline")
            raise ValueError("declined")

        self.do, self.undo = do, undo
        self.fragile_undo, self.decline = fragile_undo, decline

    def flow(self, body: Callable[[Any], Any]) -> type[Workflow]:
        """A workflow whose ``handle()`` is *body*."""

        class Staged(Workflow):
            class Meta:
                name = "acceptance.staged"

            def handle(self) -> Any:
                return body(self)

        return Staged

    def abc(self, *, policy: Any = None, ends: bool = True) -> type[Workflow]:
        """a and c undone well, b by an undo that fails under *policy*."""

        def body(self_: Any) -> None:
            self_.action(self.do, "a").compensate_with(self.undo, RESULT).run()
            step = self_.action(self.do, "b")
            if policy is None:
                step.compensate_with(self.undo, RESULT).run()
            else:
                step = step.compensate_with(self.fragile_undo, RESULT)
                step.on_compensation_failure(policy).run()
            self_.action(self.do, "c").compensate_with(self.undo, RESULT).run()
            if ends:
                self_.action(self.decline).run()
            else:
                self_.signal("never").wait()

        return self.flow(body)


@pytest.fixture
def stage() -> Stage:
    """Fresh actions for each test."""
    return Stage()


@pytest.mark.covers("M-SAGA-1", "M-SAGA-10")
@pytest.mark.django_db
def test_finished_steps_are_undone_the_newest_first(stage: Stage) -> None:
    handle = run_workflow(stage.abc())

    assert handle.failed()
    assert handle.compensation_state == "completed"
    assert stage.effects == [
        *("a", "b", "c", "decline"),
        *("undo <c>", "undo <b>", "undo <a>"),
    ]


@pytest.mark.covers("M-SAGA-10")
@pytest.mark.django_db
def test_the_plan_turns_the_order_of_the_rows_round(stage: Stage) -> None:
    run_workflow(stage.abc())

    planned = CompensationRun.objects.order_by("level", "order")
    assert list(planned.values_list("sequence", "status")) == [
        (2, "completed"),
        (1, "completed"),
        (0, "completed"),
    ]
    assert len(set(planned.values_list("level", flat=True))) == 3


@pytest.mark.covers("M-SAGA-2")
@pytest.mark.django_db
def test_each_undo_is_in_the_journal(stage: Stage) -> None:
    handle = run_workflow(stage.abc(policy=CONTINUE))

    assert lines(handle, "compensation.") == [
        ("compensation.started", 2),
        ("compensation.completed", 2),
        ("compensation.started", 1),
        ("compensation.failed", 1),
        ("compensation.started", 0),
        ("compensation.completed", 0),
    ]


@pytest.mark.covers("M-SAGA-4")
@pytest.mark.django_db
def test_under_stop_a_failed_undo_ends_the_rollback_and_names_what_stays(
    stage: Stage,
) -> None:
    handle = run_workflow(stage.abc(policy=STOP))

    assert stage.effects[4:] == ["undo <c>", "try <b>"]
    assert handle.failed()
    assert handle.compensation_state == "failed"
    rows = {row.sequence: row.status for row in handle.compensations()}
    assert rows == {2: "completed", 1: "failed", 0: "pending"}
    assert handle.error is not None
    assert handle.error["cause"]["message"] == "declined"
    told = handle.error["compensation"]
    assert told["name"] == "acceptance.fragile_undo"
    assert told["cause"]["message"] == "too late"
    assert told["left"] == [1, 0]


@pytest.mark.covers("M-SAGA-5")
@pytest.mark.django_db
def test_under_continue_the_other_undos_run(stage: Stage) -> None:
    handle = run_workflow(stage.abc(policy=CONTINUE))

    assert stage.effects[4:] == ["undo <c>", "try <b>", "undo <a>"]
    assert handle.failed()
    assert handle.compensation_state == "failed"
    rows = {row.sequence: row.status for row in handle.compensations()}
    assert rows == {2: "completed", 1: "failed", 0: "completed"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("setting", "after"),
    [("stop", ["undo <b>"]), ("continue", ["undo <b>", "undo <a>"])],
)
def test_the_settings_policy_holds_where_the_step_says_nothing(
    stage: Stage, setting: str, after: list[str]
) -> None:
    def once(result: str) -> None:
        stage.effects.append(f"undo {result}")
        if result == "<b>":
            raise NonRetryable("too late")

    def body(self_: Any) -> None:
        for what in ("a", "b"):
            self_.action(stage.do, what).compensate_with(stage.undo, RESULT).run()
        self_.action(stage.decline).run()

    with (
        override_settings(SAGA_FLOW={"ON_COMPENSATION_FAILURE": setting}),
        fake_action(stage.undo, side_effect=once),
    ):
        run_workflow(stage.flow(body))

    assert stage.effects[3:] == after


@pytest.mark.covers("M-SAGA-7")
@pytest.mark.django_db
def test_compensating_a_live_run_undoes_it_and_ends_it_as_cancelled(
    stage: Stage,
) -> None:
    handle = run_workflow(stage.abc(ends=False))

    handle.compensate()
    drain()

    assert handle.refresh().cancelled()
    assert handle.compensation_state == "completed"
    assert stage.effects[3:] == ["undo <c>", "undo <b>", "undo <a>"]
    assert_compensated([stage.undo] * 3, run=handle)


@pytest.mark.django_db(transaction=True)
def test_a_rollback_leaves_the_same_rows_synchronously_and_queued(
    stage: Stage, work: Play
) -> None:
    flow = stage.abc(policy=STOP)

    here = flow.using(instance_id="here").run_sync()
    queued = work(flow.using(instance_id="queued").start())

    assert dump(here.run_id) == dump(queued.run_id)


@pytest.mark.django_db(transaction=True)
def test_compensating_leaves_the_same_rows_synchronously_and_queued(
    stage: Stage, work: Play
) -> None:
    flow = stage.abc(ends=False)

    here = flow.using(instance_id="here").run_sync()
    here.compensate()
    client.drive(here.run_id)
    queued = work(flow.using(instance_id="queued").start())
    queued.compensate()
    work(queued)

    assert here.refresh().cancelled()
    assert dump(here.run_id) == dump(queued.run_id)


def _own_failure(stage: Stage, *, asked: bool) -> type[Workflow]:
    def body(self_: Any) -> None:
        self_.action(stage.do, "a").compensate_with(stage.undo, RESULT).run()
        step = self_.action(stage.decline).compensate_with(stage.undo, RESULT)
        (step.compensate_on_own_failure() if asked else step).run()

    return stage.flow(body)


@pytest.mark.covers("M-SAGA-8")
@pytest.mark.django_db
def test_a_failed_step_is_not_undone_by_default(stage: Stage) -> None:
    run_workflow(_own_failure(stage, asked=False))

    assert stage.effects == ["a", "decline", "undo <a>"]


@pytest.mark.covers("M-SAGA-8")
@pytest.mark.django_db
def test_a_failed_step_is_undone_first_where_the_step_asks_for_it(
    stage: Stage,
) -> None:
    run_workflow(_own_failure(stage, asked=True))

    assert stage.effects == ["a", "decline", "undo None", "undo <a>"]


@pytest.mark.covers("M-SAGA-8")
@pytest.mark.django_db
def test_a_failed_step_is_undone_first_where_the_settings_ask_for_it(
    stage: Stage,
) -> None:
    with override_settings(SAGA_FLOW={"COMPENSATE_FAILED_STEP": True}):
        run_workflow(_own_failure(stage, asked=False))

    assert stage.effects == ["a", "decline", "undo None", "undo <a>"]


def _changing(stage: Stage) -> tuple[type[Workflow], list[str]]:
    """A workflow whose code differs once *changed* is filled."""
    changed: list[str] = []

    def body(self_: Any) -> None:
        if not changed:
            self_.action(stage.do, "a").compensate_with(stage.undo, RESULT).run()
        else:
            self_.action(stage.decline).run()
        self_.signal("word").wait()

    return stage.flow(body), changed


def _mismatched(stage: Stage) -> Handle[Any]:
    flow, changed = _changing(stage)
    handle = run_workflow(flow)
    changed.append("a deploy")
    return send_signal(handle, "word")


@pytest.mark.covers("M-SAGA-9")
@pytest.mark.django_db
def test_a_history_mismatch_interrupts_the_run_and_undoes_nothing(
    stage: Stage,
) -> None:
    handle = _mismatched(stage)

    assert handle.status == "interrupted"
    assert "acceptance.do" in handle.wait_reason
    assert "acceptance.decline" in handle.wait_reason
    assert handle.compensations() == ()
    assert stage.effects == ["a"]


@pytest.mark.covers("M-SAGA-9")
@pytest.mark.django_db
def test_a_history_mismatch_that_fails_the_run_undoes_nothing_either(
    stage: Stage,
) -> None:
    with override_settings(SAGA_FLOW={"HISTORY_MISMATCH": "fail"}):
        handle = _mismatched(stage)

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["type"] == "HistoryMismatch"
    assert handle.compensation_state == "none"
    assert handle.compensations() == ()
    assert stage.effects == ["a"]


@pytest.mark.covers("M-SAGA-11")
@pytest.mark.django_db
def test_an_undo_given_as_a_lambda_fails_the_run_before_the_step_exists(
    stage: Stage,
) -> None:
    seen: list[str] = []

    def body(self_: Any) -> None:
        try:
            self_.action(stage.do, "a").compensate_with(lambda: None).run()
        except DefinitionError as error:
            seen.append(str(error))
            raise

    handle = run_workflow(stage.flow(body))

    assert handle.failed()
    assert len(seen) == 1
    assert "<lambda>" in seen[0]
    assert "Decorate a named function with @action" in seen[0]
    assert handle.actions() == ()
    assert stage.effects == []

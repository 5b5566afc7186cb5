"""Groups of members, and undos that ``handle()`` adds by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from saga_flow import CONTINUE, RESULT, STOP
from saga_flow.authoring.handle import Handle
from saga_flow.exceptions import DefinitionError
from saga_flow.testing import assert_compensated, drain, run_workflow, send_signal
from tests.integration.acceptance.journal import lines
from tests.integration.acceptance.test_sagas import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def stage() -> Stage:
    """Fresh actions for each test."""
    return Stage()


def played(stage: Stage, body: Callable[[Any], Any]) -> Handle[Any]:
    return run_workflow(stage.flow(body))


def test_members_run_in_order_and_the_results_are_a_list(stage: Stage) -> None:
    def body(self_: Any) -> Any:
        inner = self_.saga(self_.action(stage.do, "b"), self_.action(stage.do, "c"))
        return self_.saga(self_.action(stage.do, "a"), inner, self_.saga()).run()

    handle = played(stage, body)

    assert handle.output() == ["<a>", ["<b>", "<c>"], []]
    assert stage.effects == ["a", "b", "c"]
    assert [row.sequence for row in handle.actions()] == [0, 1, 2]


def test_nothing_after_a_member_that_fails_begins(stage: Stage) -> None:
    def body(self_: Any) -> Any:
        step = self_.action(stage.do, "a").compensate_with(stage.undo, RESULT)
        never = self_.action(stage.do, "never")
        self_.saga(step, self_.action(stage.decline), never).run()

    handle = played(stage, body)

    assert handle.failed()
    assert stage.effects == ["a", "decline", "undo <a>"]


@pytest.mark.covers("M-SAGA-12")
@pytest.mark.parametrize(
    ("own", "inner", "outer", "setting", "goes_on"),
    [
        (None, None, None, "stop", False),
        (None, None, None, "continue", True),
        (None, None, CONTINUE, "stop", True),
        (None, None, STOP, "continue", False),
        (None, STOP, CONTINUE, "continue", False),
        (None, CONTINUE, STOP, "stop", True),
        (STOP, CONTINUE, CONTINUE, "continue", False),
        (CONTINUE, STOP, STOP, "stop", True),
    ],
)
def test_a_failed_undo_follows_its_step_then_its_group_then_the_settings(
    stage: Stage, own: Any, inner: Any, outer: Any, setting: str, *, goes_on: bool
) -> None:
    def body(self_: Any) -> None:
        self_.action(stage.do, "a").compensate_with(stage.undo, RESULT).run()
        step = self_.action(stage.do, "b").compensate_with(stage.fragile_undo, RESULT)
        if own is not None:
            step = step.on_compensation_failure(own)
        group = self_.saga(step, on_compensation_failure=inner)
        self_.saga(group, on_compensation_failure=outer).run()
        self_.action(stage.decline).run()

    with override_settings(SAGA_FLOW={"ON_COMPENSATION_FAILURE": setting}):
        played(stage, body)

    assert stage.effects[3:] == ["try <b>", *["undo <a>"] * goes_on]


@pytest.mark.covers("M-SAGA-12")
@pytest.mark.parametrize(
    ("own", "group", "setting", "undone"),
    [
        (None, None, False, False),
        (None, None, True, True),
        (None, True, False, True),
        (None, False, True, False),
        (True, False, False, True),
        (False, True, True, False),
    ],
)
def test_whether_a_failed_step_is_undone_follows_the_same_order(
    stage: Stage, *, own: Any, group: Any, setting: bool, undone: bool
) -> None:
    def body(self_: Any) -> None:
        step = self_.action(stage.decline).compensate_with(stage.undo, RESULT)
        if own is not None:
            step = step.compensate_on_own_failure(wanted=own)
        self_.saga(step, compensate_on_own_failure=group).run()

    with override_settings(SAGA_FLOW={"COMPENSATE_FAILED_STEP": setting}):
        played(stage, body)

    assert stage.effects == ["decline", *["undo None"] * undone]


def test_members_without_an_undo_take_no_harm_from_what_the_group_says(
    stage: Stage,
) -> None:
    def body(self_: Any) -> Any:
        return self_.saga(
            self_.action(stage.do, "a"),
            self_.signal("word", str),
            on_compensation_failure=CONTINUE,
            compensate_on_own_failure=True,
        ).run()

    handle = send_signal(played(stage, body), "word", "go")

    assert handle.output() == ["<a>", "go"]


def test_a_group_may_be_undone_as_one_level_between_two_others(stage: Stage) -> None:
    def body(self_: Any) -> None:
        steps = [
            self_.action(stage.do, what).compensate_with(stage.undo, RESULT)
            for what in "abcd"
        ]
        steps[0].run()
        self_.saga(steps[1], self_.saga(steps[2]), compensate_in_parallel=True).run()
        steps[3].run()
        self_.action(stage.decline).run()

    handle = played(stage, body)

    assert handle.compensation_state == "completed"
    assert [row.level for row in handle.compensations()] == [-3, -1, -1, 0]
    assert stage.effects[5:] == ["undo <d>", "undo <c>", "undo <b>", "undo <a>"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_compensation_failure": "stop"},
        {"compensate_in_parallel": 1},
        {"compensate_on_own_failure": "yes"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_option_of_a_wrong_kind_is_refused_before_anything_runs(
    stage: Stage, wrong: dict[str, Any]
) -> None:
    def body(self_: Any) -> None:
        with pytest.raises(DefinitionError, match=next(iter(wrong))):
            self_.saga(self_.action(stage.do, "a"), **wrong)

    assert played(stage, body).completed()
    assert stage.effects == []


def test_what_is_no_member_is_refused_before_anything_runs(stage: Stage) -> None:
    def body(self_: Any) -> None:
        policy = self_.action(stage.do, "b").on_compensation_failure(STOP)
        with pytest.raises(DefinitionError, match="has no undo"):
            self_.saga(self_.action(stage.do, "a"), self_.saga(policy))
        with pytest.raises(DefinitionError, match=r"Member 1 .* without \.run\(\)"):
            self_.saga(self_.action(stage.do, "a"), "<b>")

    assert played(stage, body).completed()
    assert stage.effects == []


# ------------------------------------------------------------------ added undos


def test_an_added_undo_has_its_place_in_the_rollback(stage: Stage) -> None:
    def body(self_: Any) -> None:
        self_.action(stage.do, "a").compensate_with(stage.undo, RESULT).run()
        self_.add_compensation(stage.undo, "otherwise")
        self_.action(stage.do, "b").compensate_with(stage.undo, RESULT).run()
        self_.signal("word").wait()
        self_.action(stage.decline).run()

    handle = send_signal(played(stage, body), "word")

    assert stage.effects[3:] == ["undo <b>", "undo otherwise", "undo <a>"]
    assert handle.compensation_state == "completed"
    assert_compensated([stage.undo] * 3, run=handle)
    assert lines(handle, "compensation.added") == [("compensation.added", 1)]
    assert [(row.sequence, row.attempt) for row in handle.actions()] == [
        (0, 1),
        (1, 0),
        (2, 1),
        (4, 1),
    ]


def test_an_added_undo_is_on_record_before_the_next_line_of_code(stage: Stage) -> None:
    """Also where that line never ends, and somebody else rolls the run back."""

    def body(self_: Any) -> None:
        self_.add_compensation(stage.undo, "otherwise")
        self_.side_effect("otherwise", lambda: handle.compensate().outcome)

    flow = stage.flow(body)
    handle = flow.using(instance_id="added").start()
    drain()

    assert handle.refresh().cancelled()
    assert stage.effects == ["undo otherwise"]


def test_what_an_added_undo_does_not_take_is_refused_where_it_is_written(
    stage: Stage,
) -> None:
    def body(self_: Any) -> None:
        for wrong in ((), ("a", "b"), (RESULT,), (object(),)):
            with pytest.raises(DefinitionError):
                self_.add_compensation(stage.undo, *wrong)
        with pytest.raises(DefinitionError, match="add_compensation"):
            self_.add_compensation(lambda: None)

    handle = played(stage, body)

    assert handle.completed()
    assert handle.actions() == ()


@pytest.mark.parametrize("now_added", [True, False])
def test_an_added_undo_is_no_step_and_a_step_no_added_undo(
    stage: Stage, *, now_added: bool
) -> None:
    added = [not now_added]

    def body(self_: Any) -> None:
        if added[-1]:
            self_.add_compensation(stage.undo, "x")
        else:
            self_.action(stage.undo, "x").run()
        self_.signal("word").wait()

    handle = played(stage, body)
    added.append(now_added)
    handle = send_signal(handle, "word")

    assert handle.status == "interrupted"
    assert "an added undo 'acceptance.undo'" in handle.wait_reason
    assert "action 'acceptance.undo'" in handle.wait_reason


def test_another_undo_than_the_one_that_was_added_is_a_mismatch(stage: Stage) -> None:
    undos: list[Any] = [stage.undo]

    def body(self_: Any) -> None:
        self_.add_compensation(undos[-1], "x")
        self_.signal("word").wait()

    handle = played(stage, body)
    undos.append(stage.fragile_undo)

    assert send_signal(handle, "word").status == "interrupted"

"""What ``handle()`` itself is refused: the run fails, and no step is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps

from saga_flow import RESULT, Signal, Workflow, action
from saga_flow.models import FlowCommand, FlowEvent, FlowRun, Worker
from saga_flow.testing import run_workflow

pytestmark = pytest.mark.django_db

_OF_THE_RUN = {FlowRun, FlowEvent, FlowCommand, Worker}


class Basket:
    """Something that JSON has no word for."""


class Stage:
    """Actions to call wrongly."""

    def __init__(self) -> None:
        @action(name="refusals.charge")
        def charge(order: str, lines: Any = ()) -> str:
            raise AssertionError("the body was called")

        @action(name="refusals.refund")
        def refund(order: str, charge: str) -> None: ...

        self.charge, self.refund = charge, refund

    def step(self, flow: Any) -> Any:
        """A step that is as it should be."""
        return flow.action(self.charge, "order")


WRONG: dict[str, tuple[Callable[[Any, Stage], Any], str, tuple[str, ...]]] = {
    "an argument that can't be stored": (
        lambda flow, stage: flow.action(stage.charge, "a", lines=[1, Basket()]).run(),
        "Unserialisable",
        ("action refusals.charge", "lines[1]", "Basket"),
    ),
    "an argument too many": (
        lambda flow, stage: flow.action(stage.charge, "a", [], "more").run(),
        "WrongArguments",
        ("refusals.charge", "order", "lines"),
    ),
    "an argument over the limit": (
        lambda flow, stage: flow.action(stage.charge, "x" * 2_100_000).run(),
        "PayloadTooLarge",
        ("order", "2,097,152"),
    ),
    "a function that is no action": (
        lambda flow, _stage: flow.action(dict, "a").run(),
        "DefinitionError",
        ("dict", "@action"),
    ),
    "a lambda as an undo": (
        lambda flow, stage: stage.step(flow).compensate_with(lambda: None).run(),
        "DefinitionError",
        ("compensate_with", "<lambda>", "@action"),
    ),
    "an undo made by using()": (
        lambda flow, stage: (
            stage.step(flow).compensate_with(stage.refund.using(), "a", RESULT).run()
        ),
        "DefinitionError",
        ("compensate_with", "refusals.refund", "using()"),
    ),
    "an undo's arguments that don't fit": (
        lambda flow, stage: stage.step(flow).compensate_with(stage.refund, "a").run(),
        "WrongArguments",
        ("refusals.refund", "charge"),
    ),
    "a policy by name": (
        lambda flow, stage: stage.step(flow).on_compensation_failure("stop").run(),
        "DefinitionError",
        ("'stop'", "STOP or CONTINUE"),
    ),
    "a policy without an undo": (
        lambda flow, stage: stage.step(flow).compensate_on_own_failure().run(),
        "DefinitionError",
        ("refusals.charge", "compensate_with(...)"),
    ),
    "a sleep in seconds": (
        lambda flow, _stage: flow.sleep(5),
        "DefinitionError",
        ("sleep()", "5", "timedelta"),
    ),
    "a sleep backwards": (
        lambda flow, _stage: flow.sleep(timedelta(seconds=-1)),
        "DefinitionError",
        ("sleep()", "negative"),
    ),
    "a signal that the class does not declare": (
        lambda flow, _stage: flow.signal("aproval").wait(),
        "UnknownDefinition",
        ("'aproval'", "Did you mean 'approval'?"),
    ),
    "a timeout in seconds": (
        lambda flow, _stage: flow.approval.wait(timeout=5),
        "DefinitionError",
        ("timeout", "'approval'", "timedelta"),
    ),
    "a side effect that is no function": (
        lambda flow, _stage: flow.side_effect("key", 5),
        "DefinitionError",
        ("side_effect()", "5", "lambda"),
    ),
    "a side effect that can't be stored": (
        lambda flow, _stage: flow.side_effect("key", Basket),
        "Unserialisable",
        ("'key'", "Basket"),
    ),
    "a tag that is no text": (
        lambda flow, _stage: flow.tag("key", 5),
        "InvalidName",
        ("tag()", "5", "str"),
    ),
    "a memo that can't be stored": (
        lambda flow, _stage: flow.memo(basket=Basket()),
        "Unserialisable",
        ("memo", "basket", "Basket"),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_refused_fails_the_run_and_leaves_no_row(what: str) -> None:
    stage = Stage()
    call, error, parts = WRONG[what]

    class Wrong(Workflow):
        approval = Signal(int)

        class Meta:
            name = "refusals.wrong"

        def handle(self) -> None:
            call(self, stage)

    handle = run_workflow(Wrong)

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["type"] == error
    missing = [part for part in parts if part not in handle.error["message"]]
    assert not missing, f"{missing} is not in: {handle.error['message']}"
    tables = set(apps.get_app_config("saga_flow").get_models()) - _OF_THE_RUN
    assert [table for table in tables if table._default_manager.exists()] == []
    assert [line.type for line in handle.history()] == [
        "flow.created",
        "flow.started",
        "flow.failed",
    ]


def test_a_result_that_cannot_be_stored_fails_its_step_without_another_try() -> None:
    calls: list[int] = []

    @action(name="refusals.fill")
    def fill() -> Any:
        calls.append(1)
        return {"basket": Basket()}

    class Filling(Workflow):
        class Meta:
            name = "refusals.filling"

        def handle(self) -> None:
            self.action(fill).run()

    handle = run_workflow(Filling)

    assert handle.failed()
    [step] = handle.actions()
    assert (step.status, step.in_doubt, calls) == ("failed", True, [1])
    assert step.error is not None
    assert step.error["type"] == "ResultNotSerializable"
    assert "basket" in step.error["message"]
    assert "Basket" in step.error["message"]

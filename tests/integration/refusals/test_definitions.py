"""Definitions that are refused where they are written."""

from __future__ import annotations

from typing import Any

import pytest

from saga_flow import Retry, Signal, Workflow, action, current_step
from saga_flow.exceptions import (
    DefinitionError,
    DuplicateName,
    NotInStep,
    NotInWorkflow,
    SagaFlowError,
    UnknownOption,
)
from tests.integration.refusals.conftest import WritesOnly
from tests.integration.refusals.told import refused

pytestmark = pytest.mark.django_db


def test_an_unknown_meta_option(writes_only: WritesOnly) -> None:
    with (
        writes_only(),
        refused(UnknownOption, "Checkout.Meta", "'verison'", "Did you mean 'version'?"),
    ):

        class Checkout(Workflow):
            class Meta:
                name = "refusals.checkout"
                verison = "2"

            def handle(self) -> None: ...


def test_a_workflow_name_that_is_taken(writes_only: WritesOnly) -> None:
    class Checkout(Workflow):
        class Meta:
            name = "refusals.checkout"

        def handle(self) -> None: ...

    with (
        writes_only(),
        refused(
            DuplicateName, "'refusals.checkout'", "Other", "Checkout", "name of its own"
        ),
    ):

        class Other(Workflow):
            class Meta:
                name = "refusals.checkout"

            def handle(self) -> None: ...


def test_an_action_name_that_is_taken(writes_only: WritesOnly) -> None:
    @action(name="refusals.charge")
    def charge() -> None: ...

    with (
        writes_only(),
        refused(DuplicateName, "'refusals.charge'", "other", "name of its own"),
    ):

        @action(name="refusals.charge")
        def other() -> None: ...


def test_an_alias_that_is_taken(writes_only: WritesOnly) -> None:
    @action(name="refusals.charge")
    def charge() -> None: ...

    with writes_only(), refused(DuplicateName, "'refusals.charge'"):

        @action(name="refusals.pay", aliases=["refusals.charge"])
        def pay() -> None: ...


def test_an_async_handle(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "Checkout.handle", "async"):

        class Checkout(Workflow):
            class Meta:
                name = "refusals.checkout"

            async def handle(self) -> None: ...


def test_a_class_without_handle(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "Checkout", "handle()", "abstract"):

        class Checkout(Workflow):
            class Meta:
                name = "refusals.checkout"


def test_a_lambda_as_the_default_undo(writes_only: WritesOnly) -> None:
    undo: Any = lambda: None  # noqa: E731 - what is refused

    with (
        writes_only(),
        refused(
            DefinitionError, "@action(compensate=...)", "<lambda>", "Decorate a named"
        ),
    ):
        action(name="refusals.charge", compensate=undo)


def test_a_lambda_as_an_action(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "@action", "<lambda>", "def"):
        action(lambda: None)


def test_a_method_as_an_action(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "Shop.charge", "function"):

        class Shop:
            @action
            def charge(self) -> None: ...


OPTIONS: dict[str, tuple[dict[str, Any], type[SagaFlowError], tuple[str, ...]]] = {
    "unknown": (
        {"retries": Retry()},
        UnknownOption,
        ("'retries'", "Did you mean 'retry'?"),
    ),
    "a number of tries": ({"retry": 3}, DefinitionError, ("retry=3", "Retry(...)")),
    "a fallback that nothing asks for": (
        {"fallback": 1},
        DefinitionError,
        ("fallback", "optional=True"),
    ),
    "an alias alone": (
        {"aliases": "refusals.old"},
        DefinitionError,
        ("aliases='refusals.old'", "list"),
    ),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_an_option_of_an_action_that_is_wrong(
    what: str, writes_only: WritesOnly
) -> None:
    options, error, parts = OPTIONS[what]
    decorate: Any = action

    with writes_only(), refused(error, "@action", *parts):
        decorate(name="refusals.charge", **options)


def test_one_signal_under_two_names(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "Checkout.again", "'approval'"):

        class Checkout(Workflow):
            class Meta:
                name = "refusals.checkout"

            approval = Signal(str)
            again = approval

            def handle(self) -> None: ...


def test_an_engine_call_outside_a_workflow(writes_only: WritesOnly) -> None:
    @action(name="refusals.charge")
    def charge() -> None: ...

    class Checkout(Workflow):
        class Meta:
            name = "refusals.checkout"

        def handle(self) -> None: ...

    with (
        writes_only(),
        refused(NotInWorkflow, "Checkout", "self.action()", "handle()", "start a run"),
    ):
        Checkout().action(charge).run()


def test_current_step_outside_a_step(writes_only: WritesOnly) -> None:
    with writes_only(), refused(NotInStep, "current_step()", "step_context()"):
        current_step()

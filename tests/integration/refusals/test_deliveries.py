"""What a run that is under way refuses to take."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from saga_flow import Signal, Workflow
from saga_flow.authoring.handle import Handle
from saga_flow.exceptions import (
    CommandRejected,
    InvalidName,
    NotInterrupted,
    PayloadNotDecodable,
    PayloadTooLarge,
    UnknownOption,
    Unserialisable,
)
from saga_flow.testing import run_workflow
from tests.integration.refusals.conftest import WritesOnly
from tests.integration.refusals.told import refused

pytestmark = pytest.mark.django_db


class Basket:
    """Something that JSON has no word for."""


def _waiting() -> Handle[Any]:
    class Checkout(Workflow):
        approval = Signal(int)

        class Meta:
            name = "refusals.checkout"

        def handle(self) -> int:
            return self.approval.wait()

    return run_workflow(Checkout.using(instance_id="one"))


def test_a_signal_that_the_workflow_does_not_declare(writes_only: WritesOnly) -> None:
    handle = _waiting()

    # the refusal itself is recorded, and nothing else
    with (
        writes_only(FlowCommand=1),
        refused(
            CommandRejected, str(handle.run_id), "'aproval'", "Did you mean 'approval'?"
        ),
    ):
        handle.signal("aproval", 1)


def test_a_payload_that_cannot_be_stored(writes_only: WritesOnly) -> None:
    handle = _waiting()

    with (
        writes_only(),
        refused(Unserialisable, "signal 'approval'", "value.by[0]", "Basket"),
    ):
        handle.signal("approval", {"by": [Basket()]})


def test_a_payload_of_another_type_than_is_declared(writes_only: WritesOnly) -> None:
    handle = _waiting()
    approval: Any = Signal(int)
    approval.name = "approval"

    with writes_only(), refused(PayloadNotDecodable, "signal 'approval'", "int"):
        handle.signal(approval, "yes")


def test_a_payload_over_the_limit(writes_only: WritesOnly) -> None:
    handle = _waiting()

    with (
        override_settings(SAGA_FLOW={"MAX_PAYLOAD_BYTES": 100}),
        writes_only(),
        refused(PayloadTooLarge, "signal 'approval'", "102", "100"),
    ):
        handle.signal("approval", "x" * 100)


def test_more_deliveries_than_a_run_may_hold(writes_only: WritesOnly) -> None:
    handle = _waiting()

    with override_settings(SAGA_FLOW={"MAX_PENDING_SIGNALS": 2}):
        for number in range(2):
            handle.signal("approval", number)
        with (
            writes_only(FlowCommand=1),
            refused(CommandRejected, str(handle.run_id), "2", "MAX_PENDING_SIGNALS"),
        ):
            handle.signal("approval", 3)


def test_an_ill_formed_signal_name(writes_only: WritesOnly) -> None:
    handle = _waiting()

    with writes_only(), refused(InvalidName, "signal", "'an approval'", "' '"):
        handle.signal("an approval")


def test_resuming_what_is_not_interrupted(writes_only: WritesOnly) -> None:
    handle = _waiting()

    with (
        writes_only(FlowCommand=1),
        refused(NotInterrupted, str(handle.run_id), "waiting", "interrupted"),
    ):
        handle.resume()


def test_a_resume_whose_payload_cannot_be_stored(writes_only: WritesOnly) -> None:
    handle = _waiting()
    handle.interrupt()

    with writes_only(), refused(Unserialisable, "resume()", "value", "Basket"):
        handle.resume(Basket())


def test_an_unknown_option_of_a_command(writes_only: WritesOnly) -> None:
    handle: Any = _waiting()

    with (
        writes_only(),
        refused(UnknownOption, "using()", "'reson'", "Did you mean 'reason'?"),
    ):
        handle.using(reson="by phone").cancel()

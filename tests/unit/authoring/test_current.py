"""The step that a body is."""

from __future__ import annotations

import pytest

from saga_flow import NotInStep, StepContext, current_step
from saga_flow.current import executing
from saga_flow.ids import uuid7

STEP = StepContext(
    run_id=uuid7(),
    instance_id="order-1",
    sequence=3,
    attempt=2,
    idempotency_key="key:3",
)


def test_there_is_no_current_step_outside_a_body() -> None:
    with pytest.raises(NotInStep, match=r"testing\.step_context\(\)"):
        current_step()


def test_a_body_sees_its_own_step_and_nothing_remains() -> None:
    with executing(STEP):
        assert current_step() is STEP
    with pytest.raises(NotInStep):
        current_step()


def test_cancellation_is_asked_of_the_engine_each_time() -> None:
    answers = iter([False, True])
    step = StepContext(
        run_id=STEP.run_id,
        instance_id="order-1",
        sequence=3,
        attempt=2,
        idempotency_key="key:3",
        asks=lambda: next(answers),
    )

    assert [step.cancel_requested(), step.cancel_requested()] == [False, True]
    assert STEP.cancel_requested() is False

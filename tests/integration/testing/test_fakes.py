"""Standing in for bodies, and asserting what became of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from saga_flow import NonRetryable, Workflow, action, current_step, registry
from saga_flow.exceptions import DefinitionError, NotInStep, UnknownDefinition
from saga_flow.testing import (
    assert_action_called,
    assert_compensated,
    fake_action,
    isolated_registry,
    run_workflow,
    send_signal,
    step_context,
)
from tests.integration.testing.shop import (
    Ask,
    Checkout,
    Reserve,
    ask,
    charge,
    key,
    refund,
    release,
    reserve,
)


@pytest.mark.django_db
def test_a_fake_returns_and_records_its_calls() -> None:
    with fake_action(reserve, returns="nowhere") as fake:
        handle = run_workflow(Reserve, "order")

    assert handle.output() == "nowhere"
    assert [(call.args, call.kwargs) for call in fake.calls] == [(("order",), {})]


@pytest.mark.django_db
def test_the_body_is_back_after_the_block() -> None:
    with fake_action(reserve, returns="nowhere"):
        pass

    assert run_workflow(Reserve, "order").output() == "shelf of order"


@pytest.mark.django_db
def test_the_body_is_back_after_a_block_that_raises() -> None:
    with pytest.raises(RuntimeError), fake_action(reserve, returns="nowhere"):
        raise RuntimeError

    assert run_workflow(Reserve, "order").output() == "shelf of order"


@pytest.mark.django_db
def test_an_inner_fake_gives_way_to_the_outer_one() -> None:
    with fake_action(reserve, returns="outer"):
        with fake_action(reserve, returns="inner"):
            assert run_workflow(Reserve, "order").output() == "inner"

        assert run_workflow(Reserve, "order").output() == "outer"


@pytest.mark.django_db
def test_a_fake_raises() -> None:
    with fake_action(charge, raises=NonRetryable("no funds")):
        handle = run_workflow(Checkout, "order", 5)

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["cause"]["message"] == "no funds"


@pytest.mark.django_db
def test_a_side_effect_gets_the_arguments() -> None:
    with fake_action(reserve, side_effect=lambda order: order.upper()):
        assert run_workflow(Reserve, "order").output() == "ORDER"


@pytest.mark.django_db
def test_a_side_effect_that_runs_out_of_items_says_so() -> None:
    with fake_action(reserve, side_effect=[]):
        handle = run_workflow(Reserve, "order")

    assert handle.error is not None
    assert "more often than side_effect has items" in handle.error["cause"]["message"]


@pytest.mark.django_db
def test_an_async_body_is_replaced() -> None:
    async def slowly(question: str) -> str:
        return f"slow answer to {question}"

    with fake_action(ask, returns="plain"):
        assert run_workflow(Ask, "why").output() == "plain"
    with fake_action(ask, side_effect=slowly):
        assert run_workflow(Ask, "why").output() == "slow answer to why"


def test_a_direct_call_runs_the_real_body() -> None:
    with fake_action(reserve, returns="nowhere"):
        assert reserve("order") == "shelf of order"


def test_a_fake_takes_one_way_to_answer() -> None:
    with pytest.raises(DefinitionError, match="one of returns=, raises= and"):
        fake_action(reserve, returns=1, raises=ValueError).__enter__()


@pytest.mark.django_db
def test_calls_are_counted_with_their_arguments() -> None:
    with fake_action(charge, side_effect=[OSError, "ch_1"]):
        handle = run_workflow(Checkout, "order", 5)
    run_workflow(Reserve, "other")

    assert_action_called(charge, times=2)
    assert_action_called(charge, times=2, with_args=("order", 5))
    assert_action_called(charge, times=2, with_args={"order": "order", "cents": 5})
    assert_action_called(charge, times=0, with_args=("order", 6))
    assert_action_called(reserve, times=2)
    assert_action_called(reserve, times=1, run=handle)
    assert_action_called(refund, times=0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ({}, r"at least once, but was 0"),
        ({"times": 2}, r"2 time\(s\), but was 0 time\(s\)\. Recorded: no call"),
    ],
)
def test_a_wrong_count_is_told(claim: dict[str, int], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        assert_action_called(reserve, times=claim.get("times"))


@pytest.mark.django_db
def test_other_arguments_are_told() -> None:
    run_workflow(Reserve, "order")

    with pytest.raises(AssertionError, match=r"Recorded: 1 x \{'order': 'order'\}"):
        assert_action_called(reserve, with_args=("other",))


@pytest.mark.django_db
def test_undos_are_asserted_in_the_order_of_their_effects() -> None:
    with fake_action(charge, returns="ch_1"), fake_action(refund):
        handle = run_workflow(Checkout, "order", 5)
        send_signal(handle, Checkout.approval, "no")

    assert_compensated([release, refund])
    assert_compensated([release, refund], run=handle)
    assert_action_called(refund, times=1, with_args=("ch_1",))
    with pytest.raises(AssertionError, match="Undone should be"):
        assert_compensated([refund, release])


@pytest.mark.django_db
def test_an_undo_that_did_not_complete_is_told() -> None:
    with (
        fake_action(charge, returns="ch_1"),
        fake_action(refund, raises=NonRetryable("bank is gone")),
    ):
        handle = run_workflow(Checkout, "order", 5)
        send_signal(handle, Checkout.approval, "no")

    with pytest.raises(AssertionError, match=f"not completed: {refund.name}"):
        assert_compensated([release, refund])


@pytest.mark.django_db
def test_nothing_was_undone_of_a_run_that_went_well() -> None:
    run_workflow(Reserve, "order")

    assert_compensated([])


def test_a_body_is_given_a_step() -> None:
    with step_context(instance_id="mine", attempt=2) as step:
        assert key() == f"mine 2 {step.run_id}:0"
        assert current_step() is step
        assert not step.cancel_requested()

    with pytest.raises(NotInStep):
        key()


def test_a_body_may_be_told_that_its_run_is_unwanted() -> None:
    with step_context(sequence=3, cancel_requested=True) as step:
        assert current_step().cancel_requested()
        assert step.idempotency_key == f"{step.run_id}:3"


@pytest.mark.django_db
def test_what_a_test_defines_is_forgotten_after_it() -> None:
    for _ in range(2):
        with isolated_registry():

            @action(name="testing_helpers.local")
            def local() -> timedelta:
                return timedelta(hours=1)

            class Local(Workflow):
                class Meta:
                    name = "testing_helpers.local_flow"

                def handle(self) -> timedelta:
                    return self.action(local).run()

            assert run_workflow(Local).output() == timedelta(hours=1)

    with pytest.raises(UnknownDefinition):
        registry.workflow("testing_helpers.local_flow")

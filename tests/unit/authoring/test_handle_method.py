"""What ``handle()`` may call, and what each call asks of the pass."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from saga_flow import (
    CONTINUE,
    FAIL,
    RESULT,
    STOP,
    DefinitionError,
    InvalidName,
    NotInWorkflow,
    PayloadTooLarge,
    Retry,
    Signal,
    UnknownDefinition,
    Unserialisable,
    Workflow,
    WrongArguments,
    action,
    registry,
)
from saga_flow.records import SignalCall, StepCall, UndoOrder
from saga_flow.states import SideEffectKind
from tests.unit.authoring.doors import NOON, FakePass


@dataclass
class Approval:
    approved: bool


def charge(order_id: str, cents: int) -> str:
    return order_id


def refund(order_id: str, charge_id: str | None, *, note: str = "") -> None: ...


class Bare(Workflow):
    """Declares no signals, so it may wait for any."""

    def handle(self) -> None: ...


class Declaring(Workflow):
    approval = Signal(Approval)

    def handle(self) -> None: ...


def bound(cls: type[Workflow], value: Any = None) -> tuple[Any, FakePass]:
    """Return a workflow in a pass that answers with *value*."""
    flow, pass_ = cls(), FakePass(value)
    flow._bind(pass_)
    return flow, pass_


def the_call(pass_: FakePass) -> StepCall:
    [(kind, call)] = pass_.asked
    assert kind == "step"
    assert isinstance(call, StepCall)
    return call


# ----------------------------------------------------------------------- steps


def test_a_step_is_asked_for_with_everything_that_it_needs() -> None:
    made = action(retry=Retry(attempts=3), aliases=["shop.bill"])(charge)
    flow, pass_ = bound(Bare, "ch-1")

    assert flow.action(made, "o", cents=5).run() == "ch-1"

    call = the_call(pass_)
    assert call.name == made.name
    assert call.arguments == '{"args":["o",5],"kwargs":{}}'
    assert call.rule.retry.attempts == 3
    assert call.aliases == ("shop.bill",)
    assert call.annotation is str
    assert (call.undo, call.optional) == (None, False)


def test_nothing_is_asked_before_run() -> None:
    flow, pass_ = bound(Bare)
    flow.action(action(charge), "o", 5).compensate_on_own_failure()

    assert pass_.asked == []


def test_using_counts_for_one_call() -> None:
    made = action(charge)
    flow, pass_ = bound(Bare)
    flow.action(made.using(lost_worker=FAIL), "o", 5).run()

    assert the_call(pass_).rule.lost_worker is FAIL


def test_an_undo_is_data_in_which_result_still_stands() -> None:
    flow, pass_ = bound(Bare)
    undo = action(refund)
    step = flow.action(action(charge), "o", 5)
    step.compensate_with(undo, "o", RESULT["id"], note="n").on_compensation_failure(
        CONTINUE
    ).compensate_on_own_failure().run()

    assert the_call(pass_).undo == UndoOrder(
        name=undo.name,
        arguments='{"args":["o",{"$result":["id"]}],"kwargs":{"note":"n"}}',
        policy="continue",
        on_own_failure=True,
    )


def test_a_chain_may_be_written_in_any_order() -> None:
    flow, _ = bound(Bare)
    step, undo = flow.action(action(charge), "o", 5), action(refund)
    first = step.on_compensation_failure(STOP).compensate_with(undo, "o", RESULT)
    second = step.compensate_with(undo, "o", RESULT).on_compensation_failure(STOP)

    assert first.call() == second.call()


def test_each_method_leaves_the_step_it_is_called_on_alone() -> None:
    flow, _ = bound(Bare)
    step = flow.action(action(charge), "o", 5)
    step.compensate_with(action(refund), "o", RESULT)
    step.optional("x")

    assert (step.call().undo, step.call().optional) == (None, False)


def test_a_default_undo_gets_the_same_arguments() -> None:
    @action
    def uncharge(order_id: str, cents: int) -> None: ...

    flow, pass_ = bound(Bare)
    flow.action(action(compensate=uncharge)(charge), "o", cents=5).run()

    undo = the_call(pass_).undo
    assert undo is not None
    assert (undo.name, undo.arguments) == (
        uncharge.name,
        '{"args":["o",5],"kwargs":{}}',
    )


def test_an_undo_that_is_written_out_replaces_the_default() -> None:
    @action
    def uncharge(order_id: str, cents: int) -> None: ...

    undo = action(refund)
    flow, pass_ = bound(Bare)
    step = flow.action(action(compensate=uncharge)(charge), "o", 5)
    step.compensate_with(undo, "o", RESULT).run()

    order = the_call(pass_).undo
    assert order is not None
    assert order.name == undo.name


def test_a_default_undo_that_does_not_fit_is_refused() -> None:
    flow, _ = bound(Bare)
    made = action(compensate=action(lambda_like))(charge)

    with pytest.raises(WrongArguments, match=r"undo .*lambda_like can't be called"):
        flow.action(made, "o", 5)


def lambda_like() -> None: ...


def test_an_optional_step_carries_its_fallback_and_how_to_read_it() -> None:
    flow, _ = bound(Bare)
    step = flow.action(action(charge), "o", 5)

    for given, call in [
        (None, step.optional().call()),
        (date(2030, 1, 1), step.optional(date(2030, 1, 1)).call()),
        ("none", flow.action(_optional(), "o", 5).call()),
    ]:
        assert call.optional
        assert call.fallback_annotation is type(given)
    assert step.optional(date(2030, 1, 1)).call().fallback == '"2030-01-01"'


def _optional() -> Any:
    return action(optional=True, fallback="none")(charge)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("o",), "missing a required argument: 'cents'"),
        (("o", 1, 2), "too many positional arguments"),
    ],
)
def test_arguments_that_don_t_fit_are_refused(args: tuple[Any, ...], said: str) -> None:
    flow, pass_ = bound(Bare)

    with pytest.raises(WrongArguments, match=said):
        flow.action(action(charge), *args)
    assert pass_.asked == []


def test_an_unserialisable_argument_is_refused_by_its_path() -> None:
    flow, _ = bound(Bare)

    with pytest.raises(Unserialisable) as caught:
        flow.action(action(charge), {"card": [1, object()]}, 5)
    assert (caught.value.path, caught.value.value_type) == (
        "order_id.card[1]",
        "object",
    )


def test_result_is_for_undos_only() -> None:
    flow, _ = bound(Bare)

    with pytest.raises(Unserialisable, match="order_id"):
        flow.action(action(charge), RESULT, 5)


def test_an_oversized_argument_is_refused(settings: Any) -> None:
    settings.SAGA_FLOW = {"MAX_PAYLOAD_BYTES": 100}
    flow, _ = bound(Bare)

    with pytest.raises(PayloadTooLarge, match="'order_id'"):
        flow.action(action(charge), "x" * 100, 5)


@pytest.mark.parametrize("what", [charge, lambda: None, "shop.charge", None])
def test_a_plain_function_is_no_step(what: Any) -> None:
    flow, _ = bound(Bare)

    with pytest.raises(DefinitionError, match=r"decorate the function with @action"):
        flow.action(what, "o", 5)


@pytest.mark.covers("M-SAGA-11")
@pytest.mark.parametrize(
    ("undo", "given"),
    [(lambda: None, "<lambda>"), (refund, "refund"), ("shop.refund", "'shop.refund'")],
)
def test_an_undo_without_a_durable_name_is_refused(undo: Any, given: str) -> None:
    flow, _ = bound(Bare)

    with pytest.raises(DefinitionError, match=f"takes an action, not .*{given}"):
        flow.action(action(charge), "o", 5).compensate_with(undo)


def test_an_undo_takes_no_options_of_one_call() -> None:
    flow, _ = bound(Bare)
    undo = action(refund).using(retry=Retry(attempts=9))

    with pytest.raises(DefinitionError, match=r"not a copy made by using\(\)"):
        flow.action(action(charge), "o", 5).compensate_with(undo, "o", RESULT)


def test_the_arguments_of_an_undo_are_checked_where_they_are_written() -> None:
    flow, _ = bound(Bare)
    step = flow.action(action(charge), "o", 5)

    with pytest.raises(WrongArguments, match="charge_id"):
        step.compensate_with(action(refund), "o")
    with pytest.raises(Unserialisable, match="charge_id"):
        step.compensate_with(action(refund), "o", object())


def test_a_policy_without_an_undo_is_refused() -> None:
    flow, pass_ = bound(Bare)
    step = flow.action(action(charge), "o", 5)

    for lonely in (
        step.on_compensation_failure(STOP),
        step.compensate_on_own_failure(),
    ):
        with pytest.raises(DefinitionError, match="has no undo"):
            lonely.run()
    assert pass_.asked == []


def test_a_policy_is_stop_or_continue() -> None:
    flow, _ = bound(Bare)

    with pytest.raises(DefinitionError, match="takes STOP or CONTINUE"):
        flow.action(action(charge), "o", 5).on_compensation_failure("stop")


# --------------------------------------------------------------------- signals


def test_a_declared_signal_waits_for_its_payload() -> None:
    flow, pass_ = bound(Declaring, Approval(approved=True))

    assert flow.approval.wait(timeout=timedelta(days=1)) == Approval(approved=True)
    flow.approval.run()
    flow.signal("approval", Approval).run()

    with_limit = SignalCall(
        name="approval", annotation=Approval, timeout=timedelta(days=1)
    )
    without = SignalCall(name="approval", annotation=Approval)
    assert pass_.asked == [
        ("wait_signal", with_limit),
        ("wait_signal", without),
        ("wait_signal", without),
    ]


def test_a_class_that_declares_none_waits_for_any_signal() -> None:
    flow, pass_ = bound(Bare)
    flow.signal("anything").wait()

    assert pass_.asked == [("wait_signal", SignalCall(name="anything", annotation=Any))]


def test_a_class_that_declares_signals_waits_for_no_others() -> None:
    flow, _ = bound(Declaring)

    with pytest.raises(UnknownDefinition, match=r"no signal 'aproval'.*Did you mean"):
        flow.signal("aproval")


def test_a_signal_s_name_and_timeout_are_checked() -> None:
    flow, _ = bound(Bare)

    with pytest.raises(InvalidName, match="the name of a signal"):
        flow.signal("no spaces")
    with pytest.raises(DefinitionError, match="takes a timedelta"):
        flow.signal("x").wait(timeout=5)
    with pytest.raises(DefinitionError, match="is negative"):
        flow.signal("x").wait(timeout=-timedelta(seconds=1))


# --------------------------------------------------- time, chance, side effects


def test_sleeping() -> None:
    flow, pass_ = bound(Bare)
    flow.sleep(timedelta(minutes=1))
    flow.sleep_until(NOON)

    assert pass_.asked == [
        ("sleep", timedelta(minutes=1), None),
        ("sleep", None, NOON),
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda flow: flow.sleep(5), r"sleep\(\) is 5, of type int"),
        (lambda flow: flow.sleep(-timedelta(seconds=1)), "negative"),
        (lambda flow: flow.sleep_until("noon"), r"sleep_until\(\) is 'noon'"),
        (
            lambda flow: flow.sleep_until(datetime(2030, 1, 1)),  # noqa: DTZ001 - the point
            "has no time zone",
        ),
        (lambda flow: flow.side_effect("key", 5), "wrap the value"),
        (lambda flow: flow.side_effect("key", _later), "write an action"),
        (lambda flow: flow.summary(5), r"summary\(\) takes a str"),
        (lambda flow: flow.interrupt(None), r"interrupt\(\) takes a str"),
    ],
)
def test_an_illegal_value_is_refused(call: Callable[[Any], Any], said: str) -> None:
    flow, pass_ = bound(Bare)

    with pytest.raises(DefinitionError, match=said):
        call(flow)
    assert pass_.asked == []


async def _later() -> None: ...


class Rates:
    def __call__(self) -> int:
        return 1

    def today(self) -> date:
        return NOON.date()


def test_a_side_effect_comes_back_by_its_annotation() -> None:
    def rate() -> float:
        return 1.5

    flow, pass_ = bound(Bare)
    assert flow.side_effect("rate", rate) == 1.5
    flow.side_effect("plain", lambda: 1)
    flow.side_effect("partial", functools.partial(rate))
    flow.side_effect("class", dict)
    flow.side_effect("object", Rates())
    flow.side_effect("method", Rates().today)
    flow.side_effect("builtin", os.getpid)

    kind = SideEffectKind.SIDE_EFFECT
    assert pass_.asked == [
        ("side_effect", kind, "rate", float),
        ("side_effect", kind, "plain", Any),
        ("side_effect", kind, "partial", float),
        ("side_effect", kind, "class", dict),
        ("side_effect", kind, "object", int),
        ("side_effect", kind, "method", date),
        ("side_effect", kind, "builtin", Any),
    ]


def test_a_side_effect_s_key_is_checked() -> None:
    flow, _ = bound(Bare)

    with pytest.raises(InvalidName, match=r"the key of side_effect\(\) has 192"):
        flow.side_effect("x" * 192, dict)


def test_time_and_chance_are_recorded_values() -> None:
    flow, pass_ = bound(Bare)

    assert flow.now().tzinfo is UTC
    assert flow.uuid4().version == 4
    assert 0 <= flow.random() < 1
    assert [asked[1:] for asked in pass_.asked] == [
        (SideEffectKind.NOW, "", datetime),
        (SideEffectKind.UUID4, "", UUID),
        (SideEffectKind.RANDOM, "", float),
    ]


# -------------------------------------------------------------------- metadata


def test_metadata_and_interrupts_are_handed_on() -> None:
    flow, pass_ = bound(Bare, "go")
    flow.tag("channel", "web")
    flow.memo(note="x", lines=[1])
    flow.summary("half way")

    assert flow.interrupt("look", str) == "go"
    assert flow.info is pass_.info
    assert pass_.asked == [
        ("tag", "channel", "web"),
        ("memo", {"note": "x", "lines": [1]}),
        ("summary", "half way"),
        ("interrupt", "look", str),
    ]


def test_ill_formed_tags_and_memos_are_refused() -> None:
    flow, pass_ = bound(Bare)

    with pytest.raises(InvalidName, match=r"tag\(\)\['n'\] is 3"):
        flow.tag("n", 3)
    with pytest.raises(InvalidName, match=r"a key of tag\(\)"):
        flow.tag("no spaces", "x")
    with pytest.raises(Unserialisable, match="memo"):
        flow.memo(order=object())
    assert pass_.asked == []


# ------------------------------------------------------------- outside a pass


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "action": lambda flow: flow.action(action(charge), "o", 5),
    "signal": lambda flow: flow.signal("x"),
    "sleep": lambda flow: flow.sleep(timedelta(1)),
    "sleep_until": lambda flow: flow.sleep_until(NOON),
    "side_effect": lambda flow: flow.side_effect("k", dict),
    "now": lambda flow: flow.now(),
    "uuid4": lambda flow: flow.uuid4(),
    "random": lambda flow: flow.random(),
    "tag": lambda flow: flow.tag("k", "v"),
    "memo": lambda flow: flow.memo(k=1),
    "summary": lambda flow: flow.summary("x"),
    "interrupt": lambda flow: flow.interrupt("x"),
    "info": lambda flow: flow.info,
}


@pytest.mark.covers("M-ORD-3")
@pytest.mark.parametrize("call", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_an_engine_call_outside_a_pass_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        NotInWorkflow, match=r"Bare: self\..* was called outside a pass"
    ):
        call(Bare())


def test_a_declared_wait_outside_a_pass_is_refused() -> None:
    with pytest.raises(NotInWorkflow, match=r"signal 'approval'\.wait\(\)"):
        Declaring().approval.wait()


def test_the_workflows_of_this_module_are_registered_as_they_are() -> None:
    name = registry.workflow_name(__name__, "Declaring")
    assert registry.workflow(name).signals == {"approval": Approval}

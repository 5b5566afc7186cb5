"""``@action`` and ``using()``."""

from __future__ import annotations

import asyncio
import functools
import inspect
from datetime import timedelta
from typing import Any

import pytest

from saga_flow import (
    FAIL,
    INLINE,
    QUEUE,
    RESULT,
    DefinitionError,
    Dispatch,
    DuplicateName,
    InvalidName,
    LostWorker,
    Retry,
    UnknownOption,
    Unserialisable,
    action,
    registry,
)
from saga_flow.authoring.action import Action
from saga_flow.records import StepRule
from saga_flow.store.options import dump_rule, load_rule


def charge(order_id: str, cents: int) -> str:
    """Take the money."""
    return f"{order_id}:{cents}"


def test_the_function_stays_an_ordinary_callable() -> None:
    made = action(charge)

    assert made("o", 5) == "o:5"
    assert (made.__name__, made.__doc__) == ("charge", "Take the money.")
    assert inspect.signature(made) == inspect.signature(charge)


def test_a_coroutine_function_stays_one() -> None:
    @action
    async def ship(order_id: str, self: str) -> str:
        return order_id + self

    assert asyncio.run(ship("a", self="b")) == "ab"
    assert registry.action(ship.name).is_async is True


def test_options_are_kept_in_the_definition() -> None:
    @action
    def refund(order_id: str) -> None: ...

    made = action(
        name="shop.charge",
        aliases=["shop.bill"],
        retry=Retry(attempts=5),
        lost_worker=FAIL,
        optional=True,
        fallback="none",
        compensate=refund,
    )(charge)

    definition = registry.action("shop.bill")
    assert definition.name == made.name == "shop.charge"
    assert definition.function is charge
    assert definition.rule.retry.attempts == 5
    assert definition.rule.lost_worker is LostWorker.FAIL
    assert (definition.optional, definition.fallback) == (True, "none")
    assert definition.compensate == refund.name
    assert definition.result_annotation is str


def test_a_definition_tells_a_policy_of_one_try_from_none() -> None:
    assert registry.action(action(charge).name).names_retry is False

    made = action(retry=Retry(attempts=1))(charge)
    assert registry.action(made.name).names_retry is True


def test_using_changes_a_copy_only() -> None:
    made = action(retry=Retry(attempts=2), lost_worker=FAIL)(charge)
    changed = made.using(retry=Retry(attempts=9))

    assert changed.declared.rule.retry.attempts == 9
    assert changed.declared.rule.lost_worker is FAIL
    assert made.declared.rule.retry.attempts == 2
    assert changed.name == made.name
    assert registry.action(made.name).rule.retry.attempts == 2


@pytest.mark.parametrize("option", ["name", "aliases"])
def test_a_name_is_not_for_one_call(option: str) -> None:
    options: Any = {option: "x"}
    with pytest.raises(UnknownOption, match=rf"using\({option}=...\) is not for one"):
        action(charge).using(**options)


@pytest.mark.parametrize("option", ["timeout", "heartbeat_timeout"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (5, "takes a timedelta, such as"),
        (timedelta(), "leaves no time at all"),
        (timedelta(seconds=-1), "leaves no time at all"),
    ],
)
def test_a_limit_is_a_length_of_time(option: str, value: object, said: str) -> None:
    options: Any = {option: value}
    with pytest.raises(DefinitionError, match=said):
        action(**options)(charge)


def test_a_silence_that_can_never_pass_is_refused() -> None:
    second = timedelta(seconds=1)
    with pytest.raises(DefinitionError, match="can never pass within timeout"):
        action(timeout=second, heartbeat_timeout=2 * second)(charge)


def test_limits_are_kept_with_the_rule_and_none_takes_one_away() -> None:
    second = timedelta(seconds=1)
    with registry.isolated():
        made = action(timeout=second, heartbeat_timeout=second)(charge)
        assert made.declared.rule == StepRule(timeout=second, heartbeat_timeout=second)
        assert made.using(timeout=None).declared.rule.timeout is None


def test_a_body_and_its_outcome_are_one_transaction_where_that_is_asked_for() -> None:
    with registry.isolated():
        made = action(atomic=True)(charge)
        assert made.declared.rule == StepRule(atomic=True)
        assert registry.action(made.name).rule.atomic is True

    assert made.using(atomic=False).declared.rule == StepRule()
    assert action(charge).declared.rule.atomic is False


@pytest.mark.parametrize("value", [1, "yes", None])
def test_atomic_is_true_or_false(value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"atomic={value!r}\) takes True or"):
        action(atomic=value)(charge)


def test_an_async_body_cannot_be_atomic() -> None:
    async def convert() -> None:
        """Its queries go out on other threads."""

    said = "atomic=True takes a function of plain def, and .*convert is async"
    with registry.isolated():
        with pytest.raises(DefinitionError, match=said):
            action(atomic=True)(convert)
        with pytest.raises(DefinitionError, match=said):
            action(convert).using(atomic=True)


def test_a_step_is_performed_by_the_pass_unless_it_is_given_a_job() -> None:
    assert action(charge).declared.rule.dispatch is INLINE

    with registry.isolated():
        queued = action(dispatch=QUEUE, queue="hall")(charge)
        assert queued.declared.rule == StepRule(dispatch=Dispatch.QUEUE, queue="hall")
        assert registry.action(queued.name).rule == queued.declared.rule


def test_using_changes_who_performs_the_step_and_where() -> None:
    with registry.isolated():
        queued = action(dispatch=QUEUE, queue="hall")(charge)

    elsewhere = queued.using(queue="yard").declared.rule
    assert (elsewhere.dispatch, elsewhere.queue) == (QUEUE, "yard")
    again = queued.using(retry=Retry(attempts=2)).declared.rule
    assert (again.dispatch, again.queue) == (QUEUE, "hall")
    # a queue means nothing to a step without a job
    inline = queued.using(dispatch=INLINE).declared.rule
    assert (inline.dispatch, inline.queue) == (INLINE, "")


def test_a_queue_without_a_job_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"queue='hall'\).*add dispatch=QUEUE"):
        action(queue="hall")
    with pytest.raises(DefinitionError, match=r"add dispatch=QUEUE"):
        action(charge).using(queue="hall")
    with pytest.raises(DefinitionError, match=r"add dispatch=QUEUE"):
        action(dispatch=QUEUE)(charge).using(dispatch=INLINE, queue="hall")


@pytest.mark.parametrize("queue", ["", "the hall", "x" * 101])
def test_a_queue_is_an_identifier(queue: str) -> None:
    with pytest.raises(InvalidName, match=r"@action\(queue=...\)"):
        action(dispatch=QUEUE, queue=queue)


def test_a_misspelt_option_suggests_the_nearest() -> None:
    options: Any = {"retries": 3}
    with pytest.raises(UnknownOption, match=r"'retries'\. Did you mean 'retry'"):
        action(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retry": 3}, r"retry=3\) takes a Retry\(...\)"),
        ({"lost_worker": "retry"}, "takes RETRY or FAIL"),
        ({"dispatch": "queue"}, "takes INLINE or QUEUE"),
        ({"optional": "yes"}, "takes a bool"),
        ({"fallback": 0}, "add optional=True"),
        ({"aliases": "shop.old"}, "takes a list of names"),
        ({"compensate": charge}, "takes an action, not charge"),
        ({"compensate": lambda: None}, "Decorate a named function with @action"),
    ],
)
def test_an_illegal_value_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        action(**options)


@pytest.mark.parametrize(
    "options",
    [{"name": "my action"}, {"name": ""}, {"aliases": ["x" * 192]}],
)
def test_an_ill_formed_name_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidName, match=next(iter(options))):
        action(**options)


def test_a_fallback_must_be_storable() -> None:
    with pytest.raises(Unserialisable, match="the fallback of @action"):
        action(optional=True, fallback=object())


class Shop:
    def charge(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: None, "takes a function written with def"),
        (Shop, "takes a function written with def"),
        (functools.partial(charge, "o"), "takes a function written with def"),
        (print, "takes a function written with def"),
        (5, "takes a function written with def"),
        (Shop.charge, r"can't take the method Shop\.charge"),
    ],
)
def test_what_has_no_name_to_be_found_by_is_no_action(function: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        action(function)


def test_an_action_is_decorated_once() -> None:
    with pytest.raises(DefinitionError, match="is an action already"):
        action(action(charge))


def test_a_taken_name_is_refused() -> None:
    @action(name="shop.charge")
    def first() -> None: ...

    with pytest.raises(DuplicateName, match=r"can't be the action 'shop\.charge'"):

        @action(name="shop.charge")
        def second() -> None: ...


def test_an_annotation_that_can_t_be_resolved_shows_when_definitions_are_built() -> (
    None
):
    def puzzling() -> str:
        return "?"

    puzzling.__annotations__["return"] = "Nowhere"
    made: Action[..., Any] = action(puzzling)

    with pytest.raises(DefinitionError, match="'Nowhere' is not defined"):
        registry.action(made.name)


@pytest.mark.parametrize("limit", [60, timedelta(), timedelta(seconds=-1)])
def test_a_limit_that_nothing_can_be_done_in_is_refused(limit: Any) -> None:
    said = r"@action\(expires_in=...\) is .*timedelta.*or None for no limit"
    with pytest.raises(DefinitionError, match=said):
        action(expires_in=limit)(charge)


@pytest.mark.parametrize("limit", [timedelta(microseconds=1), None])
def test_a_limit_of_the_step_is_part_of_its_rule(limit: timedelta | None) -> None:
    made = action(expires_in=limit)(charge)

    assert made.declared.rule.expires_in == limit
    assert made.declared.names_deadline
    assert load_rule(dump_rule(made.declared.rule)) == made.declared.rule


@pytest.mark.parametrize(
    ("redact", "told"),
    [
        ("card", "takes a list of argument names"),
        ([1], "takes a list of argument names"),
        (None, "takes a list of argument names"),
        (["carb"], "'carb', which is no argument of .*has order, card.*'card'"),
    ],
)
def test_a_redacted_argument_must_be_one(redact: Any, told: str) -> None:
    def pay(order: str, card: str) -> None: ...

    with pytest.raises(DefinitionError, match=told):
        action(redact=redact)(pay)
    with pytest.raises(DefinitionError, match=told):
        action(pay).using(redact=redact)


def test_what_is_redacted_is_declared_with_the_action() -> None:
    @action(redact=("card", RESULT))
    def pay(order: str, card: str) -> str:
        return order

    assert pay.declared.redact == ("card",)
    assert pay.declared.redacts_result
    assert not pay.using(redact=[]).declared.redact

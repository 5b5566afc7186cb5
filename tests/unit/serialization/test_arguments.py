"""Calls are checked where they are written, stored, and read back by annotation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, TypedDict, Unpack

import pytest
from django.contrib.auth.models import Group

from saga_flow.exceptions import (
    PayloadNotDecodable,
    PayloadTooLarge,
    Unserialisable,
    WrongArguments,
)
from saga_flow.serialization import (
    RESULT,
    bind,
    decode_arguments,
    encode_arguments,
    result_annotation,
    signature_of,
)


@dataclass
class Item:
    sku: str
    price: Decimal


class Options(TypedDict, total=False):
    due: date


def charge(order: str, cents: int = 0, *, item: Item | None = None) -> str:
    return order


def gather(*days: date, **prices: Decimal) -> None: ...


def positional(key: int, /, *rest: Decimal, **others: str) -> None: ...


def optioned(key: str, **options: Unpack[Options]) -> None: ...


def untyped(a, b=1):  # type: ignore[no-untyped-def] # as authors may write it
    ...


def emptied(keys: list[str] = [], *, more: dict[str, int] = {}) -> None:  # noqa: B006 - a default without a hash is what is tested
    ...


async def later(order: Item) -> None: ...


class Checkout:
    def handle(self, order: Item) -> None: ...


def stored(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    return encode_arguments(bind(function, args, kwargs, what="shop.step"))


ITEM = Item("a", Decimal("1.50"))
DAY = date(2026, 1, 2)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "expected"),
    [
        (charge, ("o",), {}, (("o",), {})),
        (charge, ("o", 5), {"item": ITEM}, (("o", 5), {"item": ITEM})),
        (charge, (), {"cents": 5, "order": "o"}, (("o", 5), {})),
        (
            gather,
            (DAY, DAY),
            {"a": Decimal("1.0")},
            ((DAY, DAY), {"a": Decimal("1.0")}),
        ),
        (gather, (), {"$a": Decimal(1)}, ((), {"$a": Decimal(1)})),
        (
            positional,
            (1, Decimal("2.0")),
            {"key": "x"},
            ((1, Decimal("2.0")), {"key": "x"}),
        ),
        (optioned, ("k",), {"due": DAY}, (("k",), {"due": DAY})),
        (untyped, ((1, 2),), {}, (([1, 2],), {})),
        (later, (ITEM,), {}, ((ITEM,), {})),
        (emptied, (["a"],), {"more": {"b": 1}}, ((["a"],), {"more": {"b": 1}})),
    ],
    ids=range(10),
)
def test_arguments_come_back_by_annotation(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    expected: object,
) -> None:
    text = stored(function, *args, **kwargs)

    assert decode_arguments(text, function) == expected


def test_they_are_stored_in_one_form_however_they_are_written() -> None:
    assert stored(charge, cents=5, order="o") == stored(charge, "o", 5)
    assert json.loads(stored(charge, "o", item=ITEM)) == {
        "args": ["o"],
        "kwargs": {"item": {"sku": "a", "price": "1.50"}},
    }


def test_the_self_of_an_unbound_method_is_left_out() -> None:
    handle = Checkout.handle
    arguments = bind(handle, (ITEM,), {}, what="shop.checkout", skip_self=True)

    text = encode_arguments(arguments)

    assert decode_arguments(text, handle, skip_self=True) == ((ITEM,), {})
    assert list(signature_of(handle, skip_self=True).parameters) == ["order"]


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {}, "missing a required argument: 'order'"),
        (("o", 1, 2), {}, "too many positional arguments"),
        (("o",), {"centz": 1}, "unexpected keyword argument 'centz'"),
        (("o",), {"order": "p"}, "multiple values for argument 'order'"),
    ],
)
def test_a_call_that_does_not_fit_shows_the_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], told: str
) -> None:
    with pytest.raises(WrongArguments) as caught:
        bind(charge, args, kwargs, what="orders.charge")

    assert str(caught.value).startswith("orders.charge can't be called like this: ")
    assert told in str(caught.value)
    assert "It is charge(order: str, cents: int = 0, *, item: " in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "path", "argument"),
    [
        (charge, ({1},), {}, "order", "order"),
        (charge, ("o",), {"item": Item("a", {1})}, "item.price", "item"),  # type: ignore[arg-type] # on purpose
        (gather, (DAY, [{1}]), {}, "days[1][0]", "days[1]"),
        (gather, (), {"day": {1}}, "day", "day"),
        (charge, ([{"price": RESULT}],), {}, "order[0].price", "order"),
        (charge, (Group(pk=1),), {}, "order", "order"),
    ],
    ids=range(6),
)
def test_a_refusal_names_the_argument(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    path: str,
    argument: str,
) -> None:
    with pytest.raises(Unserialisable) as caught:
        encode_arguments(bind(function, args, kwargs, what="orders.charge"))

    assert caught.value.path == path
    assert str(caught.value).startswith(
        f"argument {argument!r} of orders.charge can't be stored: {path} is of type"
    )


def test_arguments_over_the_limit_name_the_largest() -> None:
    arguments = bind(charge, ("x" * 50, 1), {}, what="orders.charge")

    with pytest.raises(PayloadTooLarge) as caught:
        encode_arguments(arguments, limit=60)

    assert caught.value.path == "arguments of orders.charge (the largest is 'order')"
    assert caught.value.size == len(encode_arguments(arguments))


def test_stored_arguments_that_no_longer_fit_are_refused() -> None:
    text = stored(charge, "o", 5)

    with pytest.raises(WrongArguments, match="too many positional arguments"):
        decode_arguments(text, later, what="orders.later")
    with pytest.raises(
        PayloadNotDecodable, match=r"argument 'days\[0\]' of gather can't be read back"
    ):
        decode_arguments(text, gather)


def test_a_result_is_read_back_by_the_return_annotation() -> None:
    async def fetch() -> Decimal: ...  # type: ignore[empty-body] # only its signature

    assert result_annotation(charge) is str
    assert result_annotation(fetch) is Decimal
    assert result_annotation(untyped) is Any


@pytest.mark.parametrize("text", ["[]", "{}", '{"args":{},"kwargs":{}}', "1"])
def test_text_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(PayloadNotDecodable, match="another shape"):
        decode_arguments(text, charge)


def test_annotations_that_only_a_checker_knows_are_reported() -> None:
    def blind(order: OnlyForTheChecker) -> None: ...  # type: ignore[name-defined] # noqa: F821 - on purpose

    text = encode_arguments(bind(blind, (1,), {}, what="shop.blind"))

    with pytest.raises(PayloadNotDecodable, match="'OnlyForTheChecker' is not defined"):
        decode_arguments(text, blind)

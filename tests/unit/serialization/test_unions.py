"""A union reads back the member that was stored, whatever order it is written in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import permutations
from typing import Annotated, Any, Literal, NewType, TypedDict, Union
from uuid import UUID

import pytest

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization import decode, encode

Sku = NewType("Sku", str)


class Colour(StrEnum):
    RED = "red"


class Mapped(TypedDict):
    x: int


@dataclass
class Card:
    number: str
    kind: Literal["card"] = "card"


@dataclass
class Bank:
    number: str
    kind: Literal["bank"] = "bank"


@dataclass
class Cheque:
    number: str


@dataclass
class Voucher:
    number: str


DISTINCT: list[object] = [
    True,
    1,
    1.0,
    None,
    datetime(2026, 1, 1, tzinfo=UTC),
    date(2026, 1, 1),
    time(1),
    timedelta(1),
    UUID(int=1),
    Decimal("1.50"),
    Colour.RED,
    "other text",
    Card("1"),
    Bank("1"),
]


@pytest.mark.parametrize("value", DISTINCT, ids=repr)
def test_each_member_of_a_wide_union_comes_back_as_itself(value: object) -> None:
    kinds = tuple(dict.fromkeys(type(each) for each in DISTINCT))

    for annotation in (Union[kinds], Union[kinds[::-1]]):
        back = decode(encode(value, what="it"), annotation)
        assert back == value
        assert type(back) is type(value)


CHOICES: list[tuple[object, tuple[Any, ...], type]] = [
    (3, (int, float, bool), int),
    (3.0, (int, float), float),
    (3, (float, str), float),
    (3, (float, Decimal), float),
    ("1.50", (str, Decimal), Decimal),
    ("1.5 EUR", (str, Decimal), str),
    (b"abcd", (bytes, str), bytes),
    ("red", (str, Colour), Colour),
    ("red", (Sku, Colour), Colour),
    ("red", (Sku, Annotated[int, "n"]), str),
    ([1], (list[int], tuple[int, ...]), list),
    ([1], (list[int], list[str]), list),
    ([], (list[int], list[str]), list),
    ({"x": 1}, (dict[str, int], Mapped), dict),
    ({"number": "1"}, (Cheque, dict[str, str]), Cheque),
    ({"number": 1}, (Cheque, dict[str, Any]), dict),
    ({"number": "1", "kind": "bank"}, (Card, Bank), Bank),
    ("x", (int, Any), str),
]


@pytest.mark.parametrize(("value", "members", "kind"), CHOICES, ids=range(len(CHOICES)))
def test_the_order_of_members_never_decides(
    value: object, members: tuple[Any, ...], kind: type
) -> None:
    text = encode(value, what="it")

    found = {type(decode(text, Union[order])) for order in permutations(members)}

    assert found == {kind}


def test_records_that_look_alike_are_refused() -> None:
    with pytest.raises(
        PayloadNotDecodable, match=r"fits \w+ and \w+ equally; give each"
    ):
        decode(encode(Cheque("1"), what="it"), Cheque | Voucher)


def test_an_incomplete_payload_goes_to_the_one_record_that_takes_it() -> None:
    assert decode('{"number":"1"}', Card | None) == Card("1")
    assert decode('{"number":"1"}', Card | int) == Card("1")


def test_what_fits_no_member_names_them_all() -> None:
    with pytest.raises(
        PayloadNotDecodable, match=r"value\.a is .* none of int \| bool"
    ):
        decode('{"a":"x"}', dict[str, Union[int, bool, None]])

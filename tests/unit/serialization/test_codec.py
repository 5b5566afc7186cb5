"""What can be stored, what is refused, and what a refusal says."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag, StrEnum
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group
from django.utils.safestring import mark_safe

from saga_flow.exceptions import (
    PayloadNotDecodable,
    PayloadTooLarge,
    SagaFlowError,
    Unserialisable,
)
from saga_flow.serialization import RESULT, decode, encode, tree_of
from saga_flow.serialization.encoding import MAX_DEPTH


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Rate(Enum):
    REDUCED = Decimal("0.070")
    SPLIT = (1, 2)


class Access(IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: Decimal


@dataclass(frozen=True, slots=True)
class Item:
    sku: str
    price: Decimal


@dataclass
class Order:
    items: list[Item]
    placed: datetime
    note: str | None = None
    total: Decimal = field(init=False)

    def __post_init__(self) -> None:
        self.total = sum((item.price for item in self.items), Decimal(0))


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


NOON = datetime(2026, 11, 30, 12, 0, 0, 5, tzinfo=UTC)
ODD = timezone(-timedelta(hours=4, minutes=56, seconds=2, microseconds=7))
BERLIN = ZoneInfo("Europe/Berlin")
ORDER = Order([Item("a", Decimal("1.50")), Item("b", Decimal("2.500"))], NOON)

VALUES: list[tuple[object, Any]] = [
    (None, None),
    (True, bool),
    (0, int),
    (2**63, int),
    (-(2**200), int),
    (1e16, float),
    (-0.0, float),
    (5e-324, float),
    ("", str),
    ("naïve \N{PILE OF POO}", str),
    ("\x00 in the middle", str),
    ("\ud800", str),
    ("\udc00\ud800", str),
    ([1, "a", None], list[int | str | None]),
    ((1, 2), tuple[int, ...]),
    ((1, "a"), tuple[int, str]),
    ((), tuple[()]),
    ({"a": (1,)}, dict[str, tuple[int]]),
    ({"$model": 1, "$result": [2], "$$": 3, "$": 4}, dict[str, Any]),
    (NOON, datetime),
    (NOON.astimezone(ODD), datetime),
    (date(1, 1, 1), date),
    (time(23, 59, 59, 999_999), time),
    (time(1, tzinfo=UTC), time),
    (timedelta.min, timedelta),
    (timedelta.max, timedelta),
    (timedelta(microseconds=-1), timedelta),
    (Decimal("1.500"), Decimal),
    (Decimal("-0E+30"), Decimal),
    (UUID(int=7), UUID),
    (b"\x00\xff", bytes),
    (Colour.RED, Colour),
    (Size.SMALL, Size),
    (Rate.REDUCED, Rate),
    (Rate.SPLIT, Rate),
    (Access.READ | Access.WRITE, Access),
    ({Colour.RED: 1}, dict[Colour, int]),
    (Point(1, Decimal("2.0")), Point),
    (Item("a", Decimal("1.0")), Item),
    (ORDER, Order),
    (Node("root", [Node("leaf")]), Node),
    (["$model", '"$'], list[str]),
]


@pytest.mark.parametrize(("value", "annotation"), VALUES, ids=range(len(VALUES)))
def test_a_value_comes_back_equal_and_of_its_type(
    value: object, annotation: Any
) -> None:
    back = decode(encode(value, what="a value"), annotation)

    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ((1, (2,)), "[1,[2]]"),
        (Colour.RED, '"red"'),
        (Decimal("1.50"), '"1.50"'),
        (NOON, '"2026-11-30T12:00:00.000005+00:00"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (time(1, 2), '"01:02:00.000000"'),
        (timedelta(days=-1, hours=2), '"-P0DT22H0M0.000000S"'),
        (b"abc", '"YWJj"'),
        (Item("a", Decimal(1)), '{"sku":"a","price":"1"}'),
        ({"$a": {"$$b": 1}}, '{"$$a":{"$$$b":1}}'),
        (mark_safe("<b>"), '"<b>"'),
        ("ä\x00\ud800", '"\\u00e4\\u0000\\ud800"'),
    ],
)
def test_a_value_is_stored_as_plain_ascii_json(value: object, stored: str) -> None:
    assert encode(value, what="a value") == stored


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (NOON, "2026-11-30T12:00:00.000005+00:00"),
        ((1, 2), [1, 2]),
        (Item("a", Decimal("1.0")), {"sku": "a", "price": "1.0"}),
        ({"$a": ["$b", {"$$c": 1}]}, {"$a": ["$b", {"$$c": 1}]}),
    ],
)
def test_without_an_annotation_it_stays_json(value: object, plain: object) -> None:
    assert decode(encode(value, what="a value")) == plain
    assert decode(encode(value, what="a value"), object) == plain


def test_both_readings_of_an_ambiguous_hour_keep_their_instant() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    second = first.replace(fold=1)

    back = [decode(encode(each, what="it"), datetime) for each in (first, second)]

    assert [each.astimezone(UTC) for each in back] == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
    ]


class Vanishing:
    """No type that anybody could store."""


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@dataclass
class Unfinished:
    total: int = field(init=False)


REFUSED: list[tuple[object, str, str, str]] = [
    ({"a": [1, math.nan]}, "value.a[1]", "float", "finite"),
    (math.inf, "value", "float", "pass None"),
    (Decimal("NaN"), "value", "Decimal", "finite"),
    (datetime(2026, 1, 1), "value", "datetime", "make_aware"),  # noqa: DTZ001
    (time(1, tzinfo=BERLIN), "value", "time", "drop tzinfo"),
    ({"a": {1: 2}}, "value.a", "dict", "key of type int"),
    ({"a b": {1, 2}}, "value['a b']", "set", "sorted"),
    ([bytearray(b"x")], "value[0]", "bytearray", "bytes(value)"),
    ("\ud83d\ude00", "value", "str", "surrogatepass"),
    ({"\ud83d\ude00": 1}, "value", "str", "surrogatepass"),
    (10**4400, "value", "int", "4,000 digits"),
    ([Vanishing()], "value[0]", "Vanishing", "Legal are None, bool"),
    (Vanishing, "value", "type", "pass its name"),
    (lambda: None, "value", "function", "code can't be stored"),
    ((each for each in "a"), "value", "generator", "convert it"),
    (complex(1, 2), "value", "complex", "Legal are"),
    (Unfinished(), "value.total", "Unset", "never set"),
    (Item("a", [Size.SMALL, {1}]), "value.price[1]", "set", "sorted"),  # type: ignore[arg-type] # on purpose
    (RESULT["id"], "value", "ResultReference", "compensate_with"),
    (Group(pk=1), "value", "Group", "pass its key"),
    (nested(MAX_DEPTH + 1), "value" + "[0]" * MAX_DEPTH, "list", "100 levels"),
    (circle(), "value" + ".self" * MAX_DEPTH, "dict", "contains itself"),
]


@pytest.mark.parametrize(
    ("value", "path", "kind", "remedy"), REFUSED, ids=range(len(REFUSED))
)
def test_a_refusal_names_path_type_and_remedy(
    value: object, path: str, kind: str, remedy: str
) -> None:
    with pytest.raises(Unserialisable) as caught:
        encode(value, what="result of orders.charge")

    assert (caught.value.path, caught.value.value_type) == (path, kind)
    assert str(caught.value).startswith(
        f"result of orders.charge can't be stored: {path}"
    )
    assert remedy in str(caught.value)
    assert isinstance(caught.value, SagaFlowError | TypeError)


def test_the_deepest_legal_nesting_is_stored() -> None:
    value = nested(MAX_DEPTH)

    assert decode(encode(value, what="it")) == value


def test_a_payload_may_be_as_large_as_its_limit_and_no_larger() -> None:
    assert encode("xxxx", what="it", limit=6) == '"xxxx"'

    with pytest.raises(PayloadTooLarge) as caught:
        encode("xxxxx", what="result of orders.charge", limit=6)

    assert (caught.value.size, caught.value.limit) == (7, 6)
    assert "result of orders.charge takes 7 bytes" in str(caught.value)


def test_the_default_limit_is_two_mebibytes() -> None:
    with pytest.raises(PayloadTooLarge):
        encode("x" * (2 * 1024 * 1024 - 1), what="it")


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[" * 100_000, "1 2"])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(PayloadNotDecodable, match="my payload is not JSON"):
        decode(text, what="my payload")


def test_a_result_that_was_never_filled_in_is_refused() -> None:
    with pytest.raises(PayloadNotDecodable, match="never filled in"):
        decode('{"a":{"$result":["id"]}}')


def test_pydantic_is_not_imported() -> None:
    code = "import sys, saga_flow.serialization; print('pydantic' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


def test_a_stored_tree_can_be_shown_as_it_is() -> None:
    stored = encode({"$a": (1,)}, what="it")

    assert tree_of(stored) == {"$$a": [1]}


def test_what_is_stored_is_json_for_everybody() -> None:
    assert json.loads(encode(ORDER, what="it"))["items"][1] == {
        "sku": "b",
        "price": "2.500",
    }

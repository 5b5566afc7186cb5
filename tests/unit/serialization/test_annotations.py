"""What an annotation reads a stored tree back as, and what it refuses."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    LiteralString,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import pytest
from typing_extensions import TypeAliasType

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization import decode, encode

T = TypeVar("T")
U = TypeVar("U")
Sku = NewType("Sku", str)


class Colour(StrEnum):
    RED = "red"


class Odd(Enum):
    KEEP = "keep"
    LOSE = object()


class Address(TypedDict):
    city: str
    zip: NotRequired[Decimal]


class Loose(TypedDict, total=False):
    city: Required[str]
    zip: str


@dataclass
class Page(Generic[T]):
    items: list[T]
    first: T | None = None


@dataclass
class Approval:
    approved: bool
    note: str = ""
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.note == "forbidden":
            raise ValueError("this note is forbidden")


READ: list[tuple[str, Any, object]] = [
    ("1", float, 1.0),
    ("5", Decimal, Decimal(5)),
    ("null", str | None, None),
    ('"a"', Sku, "a"),
    ('"a"', LiteralString, "a"),
    ('"a"', Annotated[str, {"no": "hash"}], "a"),
    ('"1.0"', Annotated[Decimal, "money"], Decimal("1.0")),
    ('"1.0"', T, "1.0"),
    ('"red"', Literal["red", 1, None], "red"),
    ("null", Literal["red", None], None),
    ('"red"', Literal[Colour.RED], Colour.RED),
    ("[1,2]", Sequence[int], [1, 2]),
    ("[1,2]", tuple, (1, 2)),
    ("[1,2]", list, [1, 2]),
    ("[1,2]", typing.List, [1, 2]),  # noqa: UP006 - as older code has it
    ("[1,2]", typing.Tuple, (1, 2)),  # noqa: UP006 - as older code has it
    ("[1,2]", Sequence, [1, 2]),
    ('{"a":[1]}', Mapping[str, Sequence[int]], {"a": [1]}),
    ('{"a":[1]}', dict, {"a": [1]}),
    ('{"red":1}', dict[Colour, int], {Colour.RED: 1}),
    ('"2026-01-01T00:00:00Z"', datetime, datetime.fromisoformat("2026-01-01T00Z")),
    ('"PT1H"', timedelta, timedelta(hours=1)),
    ('"P1D"', timedelta, timedelta(days=1)),
    ('{"city":"Ulm","zip":"1.0"}', Address, {"city": "Ulm", "zip": Decimal("1.0")}),
    ('{"city":"Ulm"}', Address, {"city": "Ulm"}),
    ('{"city":"Ulm"}', Loose, {"city": "Ulm"}),
    ('{"items":["1.0"]}', Page[Decimal], Page([Decimal("1.0")])),
    ('{"items":[],"first":"1.0"}', Page[Decimal], Page([], Decimal("1.0"))),
    ('{"items":["1.0"]}', Page, Page(["1.0"])),
    ('{"approved":true}', Approval, Approval(approved=True)),
    ('"keep"', Odd, Odd.KEEP),
]


@pytest.mark.parametrize(("text", "annotation", "value"), READ, ids=range(len(READ)))
def test_an_annotation_says_what_is_read(
    text: str, annotation: Any, value: object
) -> None:
    back = decode(text, annotation)

    assert back == value
    assert type(back) is type(value)


REFUSED: list[tuple[str, Any, str]] = [
    ("true", int, "value is a boolean, where int is read"),
    ("1", bool, "value is an integer, where bool is read"),
    ("1.0", int, "value is a number with a fraction, where int is read"),
    ('"1"', int, "value is a string"),
    ("true", float, "value is a boolean"),
    ("1", str, "value is an integer"),
    ("null", str, "value is null, where str is read"),
    ("1", None, "where None is read"),
    (str(2**53 + 1), float, "no float is equal to it"),
    (str(10**400), float, "no float is equal to it"),
    ("1.5", Decimal, "where Decimal is read"),
    ('"NaN"', Decimal, "not a finite number"),
    ('"1,5"', Decimal, "where Decimal is read"),
    ('"2026-01-01T00:00:00"', datetime, "it has no offset"),
    ('"P"', timedelta, "P1DT2H3M4.5S"),
    ('"P1DT"', timedelta, "P1DT2H3M4.5S"),
    ('""', timedelta, "P1DT2H3M4.5S"),
    ('"x"', UUID, "where UUID is read"),
    ('"x"', bytes, "where bytes is read"),
    ('"blue"', Colour, "the value of no member"),
    ('"blue"', Literal["red"], "it is none of these"),
    ("true", Literal[1], "it is none of these"),
    ('{"a":[1,"x"]}', dict[str, list[int]], "value.a[1] is a string"),
    ('{"a b":1}', dict[str, str], "value['a b'] is an integer"),
    ('{"blue":1}', dict[Colour, int], "value.blue is a string"),
    ("{}", list[int], "value is an object"),
    ("[]", dict[str, int], "value is an array"),
    ("[1]", tuple[int, int], "it has 1 items"),
    ('[1,"x"]', tuple[int, int], "value[1] is a string"),
    ('{"zip":"1"}', Address, "'city' is missing"),
    ('{"city":"a","town":"b"}', Address, "it has no 'town'"),
    ('{"city":"a","zip":"x"}', Address, "value.zip is a string"),
    ('{"zip":"1"}', Loose, "'city' is missing"),
    ("{}", Approval, "'approved' is missing"),
    ('{"approved":1}', Approval, "value.approved is an integer"),
    ('{"approved":true,"ok":1}', Approval, "it has no 'ok'"),
    ('{"approved":true,"note":"forbidden"}', Approval, "this note is forbidden"),
    ('{"items":["x"]}', Page[Decimal], "value.items[0] is a string"),
    ("[]", set[int], "annotate it as a list"),
    ("[]", Callable[[], int], "annotate it with a legal one"),
    ('"a"', "Nowhere", "import it at run time"),
    ('{"$result":[]}', dict[str, Any], "value is an object"),
]


@pytest.mark.parametrize(
    ("text", "annotation", "told"), REFUSED, ids=range(len(REFUSED))
)
def test_what_does_not_fit_is_named_with_its_place(
    text: str, annotation: Any, told: str
) -> None:
    with pytest.raises(PayloadNotDecodable) as caught:
        decode(text, annotation, what="result of orders.charge")

    assert str(caught.value).startswith("result of orders.charge can't be read back: ")
    assert told in str(caught.value)


def test_a_computed_field_keeps_what_was_recorded() -> None:
    @dataclass(frozen=True, slots=True)
    class Stamped:
        name: str
        length: int = field(init=False, default=0)

    back = decode('{"name":"a","length":7}', Stamped)

    assert (back.name, back.length) == ("a", 7)


def test_names_known_to_the_type_checker_only_are_reported() -> None:
    @dataclass
    class Blind:
        order: OnlyForTheChecker  # type: ignore[name-defined] # noqa: F821 - on purpose

    with pytest.raises(PayloadNotDecodable, match="'OnlyForTheChecker' is not defined"):
        decode("{}", Blind)


def test_a_tree_deeper_than_python_can_walk_is_refused() -> None:
    text = '{"$$a":' * 5_000 + "1" + "}" * 5_000

    with pytest.raises(PayloadNotDecodable):
        decode(text, dict[str, Any])


def test_an_escaped_key_reads_back_in_every_kind_of_mapping() -> None:
    Prices = TypedDict("Prices", {"$usd": int})
    text = encode({"$usd": 1}, what="it")

    assert decode(text, Prices) == {"$usd": 1}
    assert decode(text, dict[str, int]) == {"$usd": 1}
    assert decode(text, Final[dict[str, int]]) == {"$usd": 1}


def test_an_alias_is_read_as_what_it_stands_for() -> None:
    money = TypeAliasType("money", Decimal)
    pair = TypeAliasType("pair", tuple[U, T], type_params=(T, U))

    assert decode('"1.50"', money) == Decimal("1.50")
    assert decode('["1.50",2]', pair[int, Decimal]) == (Decimal("1.50"), 2)
    assert decode('"1.50"', money | str) == Decimal("1.50")

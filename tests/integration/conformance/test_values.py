"""
Any value of a legal kind comes back through the rows, equal and of its type.

A few examples for each kind in the gate; ``SAGA_EXAMPLES=500`` looks deeper.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntFlag, StrEnum
from itertools import pairwise
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from saga_flow import Unserialisable, Workflow, action
from saga_flow.models import FlowRun
from saga_flow.testing import drain, isolated_registry

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("SAGA_EXAMPLES", "3"))
BERLIN = ZoneInfo("Europe/Berlin")


class Level(Enum):
    LOW = 1
    EXACT = Decimal("0.10")
    PAIR = (1, "a")


class Colour(StrEnum):
    RED = "red"
    NONE = ""


class Access(IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    label: str


class Address(TypedDict):
    street: str
    zip: NotRequired[int]


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal
    sizes: tuple[int, ...]
    level: Level | None
    at: dict[str, datetime]


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


def storable(text: str) -> bool:
    """Tell whether no character of *text* is written as two surrogates."""
    return not any(
        "\ud800" <= one <= "\udbff" and "\udc00" <= two <= "\udfff"
        for one, two in pairwise(text)
    )


HARD = st.sampled_from(
    [
        "",
        "\x00",
        "\ud800",
        "\udc00x",
        "\U0001f600",
        "$model",
        "$$",
        "~:",
        "é\r\n\\u0000",
    ]
)
texts = HARD | st.text(st.characters(exclude_categories=()), max_size=30).filter(
    storable
)
keys = texts | st.just("k" * 3000)
integers = st.integers() | st.sampled_from([2**63, -(2**63) - 1, 10**400, 10**16])
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [1e16, -0.0, 5e-324, 1.7976931348623157e308]
)
# Python itself reads an offset of less than a second back as none at all
offsets = (
    st.timedeltas(min_value=-timedelta(hours=23), max_value=timedelta(hours=23))
    .filter(lambda offset: abs(offset) >= timedelta(seconds=1))
    .map(timezone)
)
# A fold makes no difference beside a fixed offset, or without a zone, and is not kept.
twice = [datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)]
instants = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001 - likewise
    timezones=st.just(UTC) | offsets,
).map(lambda each: each.replace(fold=0)) | st.sampled_from(
    # a zone's name is not kept, and its ambiguous hour equals nothing of another
    [each.astimezone(timezone(each.utcoffset() or timedelta())) for each in twice]
)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
levels = st.none() | st.sampled_from(Level)
lines = st.builds(
    Line,
    sku=texts,
    price=decimals,
    sizes=st.lists(integers, max_size=3).map(tuple),
    level=levels,
    at=st.dictionaries(keys, instants, max_size=2),
)
trees = st.recursive(
    st.builds(Tree, name=texts, children=st.just([])),
    lambda inner: st.builds(Tree, name=texts, children=st.lists(inner, max_size=2)),
    max_leaves=5,
)


def deep(levels: int) -> Any:
    """Lists in one another."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


plain = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=10,
) | st.just(deep(90))
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Any, plain),
    (bool, st.booleans()),
    (int, integers),
    (float, floats),
    (str, texts),
    (bytes, st.binary(max_size=50)),
    (datetime, instants),
    (date, st.dates()),
    (time, st.times().map(lambda each: each.replace(fold=0))),
    (timedelta, st.timedeltas()),
    (Decimal, decimals),
    (UUID, st.uuids()),
    (Level, st.sampled_from(Level)),
    (Colour, st.sampled_from(Colour)),
    (Access, st.integers(0, 3).map(Access)),
    (Line, lines),
    (list[Line], st.lists(lines, max_size=2)),
    (Tree, trees),
    (Point, st.builds(Point, x=integers, label=texts)),
    (
        Address,
        st.fixed_dictionaries({"street": texts}, optional={"zip": integers}),
    ),
    (dict[str, Decimal | None], st.dictionaries(keys, st.none() | decimals)),
    (tuple[int, str], st.tuples(integers, texts)),
    (tuple[float, ...], st.lists(floats, max_size=3).map(tuple)),
    (Literal["a", 1, None], st.sampled_from(["a", 1, None])),
    (bool | int | float | None, st.none() | st.booleans() | integers | floats),
    (date | datetime | UUID, st.dates() | instants | st.uuids()),
]
NAMES = [f"kind_{number}" for number in range(len(KINDS))]
All = make_dataclass("All", zip(NAMES, (kind for kind, _ in KINDS), strict=True))
values = st.builds(
    All, **{name: each for name, (_, each) in zip(NAMES, KINDS, strict=True)}
)

given_now: dict[str, Any] = {}
"""The values that the workflow below passes on; a pass must not draw its own."""

seen: list[tuple[str, str, Any]] = []
"""Where a value came back, of which kind, and the value."""


def _annotated(function: Callable[..., Any], kind: Any, *names: str) -> Any:
    function.__annotations__ = dict.fromkeys(names, kind)
    return function


def _echo(name: str, kind: Any) -> Any:
    def echo(value: Any) -> Any:
        seen.append(("argument", name, value))
        return given_now[name]

    echo.__qualname__ = echo.__name__ = f"echo_{name}"
    return action(name=f"values.{name}")(_annotated(echo, kind, "value", "return"))


def _made(name: str, kind: Any) -> Any:
    return _annotated(lambda: given_now[name], kind, "return")


def _carrying() -> type[Workflow]:
    echoes = {
        name: _echo(name, kind) for name, (kind, _) in zip(NAMES, KINDS, strict=True)
    }

    class Carrying(Workflow):
        class Meta:
            name = "values.carrying"

        def handle(self, everything: All) -> All:  # type: ignore[valid-type] # made above
            for name, (kind, _) in zip(NAMES, KINDS, strict=True):
                value = given_now[name]
                seen.append(("run", name, getattr(everything, name)))
                seen.append(("result", name, self.action(echoes[name], value).run()))
                recorded = self.side_effect(name, _made(name, kind))
                seen.append(("side effect", name, recorded))
            for name, (kind, _) in zip(NAMES, KINDS, strict=True):
                seen.append(("signal", name, self.signal(name, kind).wait()))
            self.signal("again").wait()
            return everything

    return Carrying


@pytest.fixture(scope="module")
def carrying() -> Iterator[type[Workflow]]:
    with isolated_registry():
        yield _carrying()


def same(one: Any, other: Any) -> bool:
    """Equal and of one type, through and through: -0.0 is not 0.0, nor 1 True."""
    return type(one) is type(other) and one == other and repr(one) == repr(other)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="SAGA_EXAMPLES" not in os.environ,
    # to make an example smaller takes minutes, and is for whoever looks deeper
    phases=[Phase.generate],
)
@given(everything=values)
def test_a_value_comes_back_from_every_place(
    carrying: type[Workflow], everything: Any
) -> None:
    given_now.update(vars(everything))
    seen.clear()

    handle = carrying.start(everything)
    for name in NAMES:
        handle.signal(name, given_now[name])
    drain()
    first = len(seen)
    handle.signal("again")
    drain()

    assert handle.refresh().status == "completed", handle.error or handle.wait_reason
    output = vars(handle.output()).items()
    assert [
        (name, given_now[name], value)
        for name, value in output
        if not same(value, given_now[name])
    ] == []
    # a first pass: run, argument, result, side effect, signal; then a replay of rows
    assert (first, len(seen)) == (5 * len(KINDS), 9 * len(KINDS))
    wrong = [each for each in seen if not same(each[2], given_now[each[1]])]
    assert wrong == []


memo_keys = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=191
)


@settings(
    max_examples=EXAMPLES * 3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="SAGA_EXAMPLES" not in os.environ,
    # to make an example smaller takes minutes, and is for whoever looks deeper
    phases=[Phase.generate],
)
@given(memo=st.dictionaries(memo_keys, plain.filter(bool), max_size=4))
def test_a_memo_comes_back_as_json(carrying: type[Workflow], memo: Any) -> None:
    handle = carrying.using(memo=memo).start(All(**dict.fromkeys(NAMES)))

    assert same(dict(handle.refresh().memo), memo)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (math.nan, "finite"),
        (-math.inf, "finite"),
        (Decimal("sNaN"), "finite"),
        (datetime(2026, 1, 1), "make_aware"),  # noqa: DTZ001 - that is the point
        ("\ud83d\ude00", "surrogatepass"),
        ({1: 2}, "key of type int"),
        ({1, 2}, "sorted"),
        (10**4400, "4,000 digits"),
        (deep(200), "nested deeper"),
    ],
    ids=range(9),
)
def test_what_cant_come_back_is_refused_before_a_row(value: Any, told: str) -> None:
    with isolated_registry():

        class Refusing(Workflow):
            class Meta:
                name = "values.refusing"

            def handle(self, value: Any) -> Any:
                return value

        with pytest.raises(Unserialisable, match=told):
            Refusing.start(value)

    assert not FlowRun.objects.exists()

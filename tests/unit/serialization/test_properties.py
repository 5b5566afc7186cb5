"""Any value of a legal kind comes back equal and of its annotated type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saga_flow.exceptions import Unserialisable
from saga_flow.serialization import bounded, bounded_tail, decode, encode
from saga_flow.serialization.encoding import Allowed, to_node
from saga_flow.serialization.text import to_json


class Level(Enum):
    LOW = 1
    HIGH = "high"


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal
    sizes: tuple[int, ...]
    level: Level | None
    extra: dict[str, datetime]


def is_storable(text: str) -> bool:
    """Tell whether no character of *text* is written as two surrogates."""
    return not any(
        "\ud800" <= one <= "\udbff" and "\udc00" <= two <= "\udfff"
        for one, two in pairwise(text)
    )


texts = st.text(st.characters(exclude_categories=())).filter(is_storable)
offsets = st.timedeltas(
    min_value=-timedelta(hours=23, minutes=59), max_value=timedelta(hours=23)
).map(timezone)
# Python itself reads an offset of less than a second back as none at all
kept_offsets = offsets.filter(
    lambda zone: not timedelta() < abs(zone.utcoffset(None)) < timedelta(seconds=1)
)
instants = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001 - likewise
    timezones=st.just(UTC) | offsets,
)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
floats = st.floats(allow_nan=False, allow_infinity=False)
lines = st.builds(
    Line,
    sku=texts,
    price=decimals,
    sizes=st.lists(st.integers()).map(tuple),
    level=st.none() | st.sampled_from(Level),
    extra=st.dictionaries(texts, instants, max_size=3),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts | st.sampled_from(["$model", "$result", "$$"]), inner)
    ),
    max_leaves=12,
)
BY_ANNOTATION: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (bool, st.booleans()),
    (int, st.integers()),
    (float, floats),
    (str, texts),
    (bytes, st.binary()),
    (datetime, instants),
    (date, st.dates()),
    (time, st.times(timezones=st.none() | kept_offsets)),
    (timedelta, st.timedeltas()),
    (Decimal, decimals),
    (UUID, st.uuids()),
    (Level, st.sampled_from(Level)),
    (Line, lines),
    (list[Line], st.lists(lines, max_size=2)),
    (dict[str, Decimal | None], st.dictionaries(texts, st.none() | decimals)),
    (tuple[int, str], st.tuples(st.integers(), texts)),
    (bool | int | float | None, st.none() | st.booleans() | st.integers() | floats),
    (date | datetime | UUID, st.dates() | instants | st.uuids()),
]


@pytest.mark.parametrize(
    ("annotation", "values"), BY_ANNOTATION, ids=lambda each: str(each)[:30]
)
@given(data=st.data())
def test_typed_values_come_back_exactly(
    annotation: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(values)

    text = encode(value, what="it")
    back = decode(text, annotation)

    assert text.isascii()
    assert back == value
    assert type(back) is type(value)
    assert encode(back, what="it") == text


@given(json_values)
def test_json_values_come_back_exactly(value: object) -> None:
    back = decode(encode(value, what="it"))

    assert back == value
    assert repr(back) == repr(value)


@given(json_values)
def test_the_fast_way_writes_what_the_slow_way_writes(value: object) -> None:
    assert encode(value, what="it") == to_json(to_node(value, Allowed()))


@given(st.text(st.sampled_from("a\ud800\udbff\udc00\udfff\x00\U0001f600")))
def test_any_text_comes_back_equal_or_is_refused(text: str) -> None:
    try:
        stored = encode(text, what="it")
    except Unserialisable:
        return
    assert decode(stored, str) == text


@given(st.text(st.characters(exclude_categories=())), st.integers(-1, 40))
def test_bounded_text_fits_and_is_as_long_as_can_be(text: str, limit: int) -> None:
    clean = bounded(text, 10**6)
    head, tail = bounded(text, limit), bounded_tail(text, limit)

    assert clean.startswith(head)
    assert clean.endswith(tail)
    for kept, following in (
        (head, clean[len(head) : len(head) + 1]),
        (tail, clean[: len(clean) - len(tail)][-1:]),
    ):
        assert len(kept.encode()) <= max(limit, 0)
        assert not following or len((kept + following).encode()) > limit


TICK = timezone(timedelta(microseconds=1))


def test_an_offset_of_less_than_a_second_keeps_its_instant() -> None:
    value = datetime(2000, 1, 1, tzinfo=TICK)

    assert decode(encode(value, what="it"), datetime) == value


def test_a_time_of_day_with_such_an_offset_is_refused() -> None:
    with pytest.raises(Unserialisable, match="less than a second"):
        encode(time(tzinfo=TICK), what="it")

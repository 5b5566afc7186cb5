"""Which values are hidden, and texts without them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from saga_flow.serialization import RESULT, bind, encode_arguments
from saga_flow.serialization.redaction import carried, hider, masked, places


def pay(order: str, card: Any, *items: Any, note: str = "", **more: Any) -> None: ...


def call(*args: Any, **kwargs: Any) -> Any:
    return bind(pay, args, kwargs, what="pay")


def text(*args: Any, **kwargs: Any) -> str:
    return encode_arguments(call(*args, **kwargs), allow_result=True)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ((), ()),
        (("card",), (1,)),
        (("order", "note"), (0, "note")),
        (("items",), (2, 3)),
        (("more",), ("$$x", "y")),
    ],
)
def test_a_place_is_an_index_or_a_stored_name(names: Any, found: Any) -> None:
    arguments = call("o", "c", 1, 2, note="n", **{"$x": 1, "y": 2})

    assert places(pay, arguments, names) == found


def test_a_masked_call_keeps_its_shape() -> None:
    stored = text("o", {"n": "4111"}, 1, note="n")

    assert masked(stored, ()) == stored
    assert masked(stored, (1, "note")) == (
        '{"args":["o","[redacted]",1],"kwargs":{"note":"[redacted]"}}'
    )


@pytest.mark.parametrize("broken", ["{", "[]", "7", '{"args":1,"kwargs":{}}', "~:x"])
def test_what_is_no_call_is_hidden_as_a_whole(broken: str) -> None:
    assert masked(broken, (0,)) == '"[redacted]"'


@pytest.mark.parametrize(
    ("undo", "result", "found"),
    [
        (text("o", "4111"), False, (1,)),
        (text("o", {"deep": ["4111"]}), False, (1,)),
        (text("o", "x", note="4111"), False, ("note",)),
        (text("o", RESULT["id"]), False, ()),
        (text("o", {"of": RESULT["id"]}), True, (1,)),
        (text("o", "41111"), False, ()),
    ],
)
def test_an_undo_hides_what_it_passes_on(undo: str, result: Any, found: Any) -> None:
    assert carried(undo, text("o", "4111"), (1,), result=result) == found


@dataclass
class Card:
    number: str
    pin: Decimal


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "message", "shown"),
    [
        ("4111", "no 4111!", "no [redacted]!"),
        ("4111", "x4111y", "x[redacted]y"),
        ("ab", "ab cab (ab)", "[redacted] cab ([redacted])"),
        ("a\n'b", f"got {'a' + chr(10) + chr(39) + 'b'!r}", "got [redacted]"),
        (42, "42 of 142, line 42", "[redacted] of 142, line [redacted]"),
        (True, "True", "True"),
        (None, "None", "None"),
        ("", "all of it", "all of it"),
        (Card("4111", Decimal("1.50")), "4111 1.50", "[redacted] [redacted]"),
        ([{"a": ["4111"]}], "4111", "[redacted]"),
        (NOON, f"at {NOON}", "at [redacted]"),
        (NOON, "at 2026-01-01T12:00:00.000000+00:00", "at [redacted]"),
        ("a.c+", "abc a.c+", "abc [redacted]"),
    ],
    ids=str,
)
def test_a_message_is_shown_without_it(value: Any, message: str, shown: str) -> None:
    hide = hider(text("o", value), (1,), [value])

    assert hide(message) == shown


def test_the_longer_value_goes_first() -> None:
    hide = hider(text("4111", "4111-2222"), (0, 1))

    assert hide("4111-2222 4111") == "[redacted] [redacted]"


def test_arguments_that_cant_be_read_hide_what_is_known() -> None:
    assert hider("{", (1,))("4111") == "4111"
    assert hider("{", (1,), ["4111"])("4111") == "[redacted]"

"""Cursors are opaque, signed and bound to one filter."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from saga_flow.exceptions import InvalidCursor
from saga_flow.queries.cursors import Position, decode, encode

PLACE = Position(
    sort_at=datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC), id=UUID(int=7)
)


def test_a_cursor_comes_back_to_the_microsecond() -> None:
    assert decode(encode(PLACE, "f"), "f") == PLACE


def test_a_cursor_is_refused_by_another_filter() -> None:
    with pytest.raises(InvalidCursor, match="another filter"):
        decode(encode(PLACE, "f"), "g")


@pytest.mark.parametrize("cursor", ["", "x", "a:b", "\x00", encode(PLACE, "f")[:-1]])
def test_a_forged_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor, match="first page"):
        decode(cursor, "f")

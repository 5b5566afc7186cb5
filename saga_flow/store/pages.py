"""Many rows, in as many statements as they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

ROWS_AT_ONCE: Final = 200
"""Rows of one INSERT: well below every vendor's limit on what may be bound."""


def pages(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """*rows* in as many INSERTs as they need."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]

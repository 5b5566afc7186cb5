"""How long a row that was hinted at is left alone (docs/writes.md, row 22)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from saga_flow.store import dialect

LONGEST: Final = timedelta(seconds=300)
LEVELS: Final = 9
"""2⁹ seconds are more than the longest window."""

SENT: Final = 4
"""
What ``hints`` is once a job was sent: sixteen seconds before the next.

A job may have to wait for a free worker; a second one for the same row would only
lengthen the queue in which it waits. A claim sets it back to none.
"""


def window(hints: int) -> timedelta:
    """How long a row is left alone at *hints*."""
    return min(timedelta(seconds=2 ** min(hints, LEVELS)), LONGEST)


def sent() -> dict[str, Any]:
    """The columns of a run for which a job is sent in the same transaction."""
    return {"hint_at": dialect.now(), "hints": SENT}

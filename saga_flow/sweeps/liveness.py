"""
When silence proves that a worker is dead.

Only to a leader that has itself been awake without a gap for a while, and whose own
monotonic clock has passed as much time as the database's: after an outage, a frozen
process or a clock that was set, everybody seems silent and nobody is dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from saga_flow import clock

LONGEST_GAP: Final = 3.0
"""Seconds between two ticks beyond which the leader has itself been away."""

WATCHED: Final = 10.0
"""Seconds of ticks without a gap before a leader may judge."""

DISAGREEMENT: Final = 1.0
"""Seconds by which the two clocks may differ over one watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One look at both clocks."""

    monotonic: float
    database: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """An unbroken row of ticks, from the first to the last."""

    first: Tick
    last: Tick

    @property
    def sound(self) -> bool:
        """Whether it has lasted long enough to judge by."""
        return self.last.monotonic - self.first.monotonic >= WATCHED


def observe(watch: Watch | None, tick: Tick) -> Watch:
    """*watch* with *tick* added, or a new watch if that broke the row."""
    if watch is None or _gap(watch.last, tick) or _disagree(watch.first, tick):
        return Watch(first=tick, last=tick)
    return Watch(first=watch.first, last=tick)


def _gap(before: Tick, tick: Tick) -> bool:
    return not 0 <= tick.monotonic - before.monotonic <= LONGEST_GAP


def _disagree(first: Tick, tick: Tick) -> bool:
    here = tick.monotonic - first.monotonic
    there = (tick.database - first.database).total_seconds()
    return abs(here - there) > DISAGREEMENT


_watch: Watch | None = None


def note(tick: Tick | None) -> None:
    """Keep this process's own watch; None ends it: the process does not lead."""
    global _watch  # noqa: PLW0603 - one process, one watch
    _watch = None if tick is None else observe(_watch, tick)


def may_judge() -> bool:
    """Whether this process leads and its watch is sound at this moment."""
    if _watch is None or not _watch.sound:
        return False
    return clock.monotonic() - _watch.last.monotonic <= LONGEST_GAP

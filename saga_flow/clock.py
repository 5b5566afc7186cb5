"""
The only clock.

Time is the database's: the store writes the vendor's own clock function into its
SQL (docs/engine.md, "Time"). What is here serves two ends: code that needs a time
outside a statement, and tests, which bind a fixed time that every statement then
uses instead of the database's clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.utils import timezone


class FakeClock:
    """A clock that moves only when it is told to. Bind it with :func:`fixed`."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def advance(self, by: timedelta) -> datetime:
        """Move forward by *by* and return the new time."""
        self.now += by
        return self.now


_fake: FakeClock | None = None


def bound() -> datetime | None:
    """The time that a test has bound, or None: then the database's clock rules."""
    return None if _fake is None else _fake.now


def now() -> datetime:
    """The current time, aware, in UTC."""
    return timezone.now() if _fake is None else _fake.now


def pause(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait out *seconds*; a bound clock is moved forward instead."""
    if _fake is None:
        sleep(seconds)
    else:
        _fake.advance(timedelta(seconds=seconds))


async def apause(
    seconds: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Wait out *seconds* as :func:`pause` does, while the thread does other work."""
    if _fake is None:
        await sleep(seconds)
    else:
        pause(seconds)


def monotonic() -> float:
    """Seconds on a clock that never goes back; a bound clock moves it too."""
    return time.monotonic() if _fake is None else _fake.now.timestamp()


@contextmanager
def fixed(clock: FakeClock) -> Iterator[FakeClock]:
    """Bind *clock* for this process until the block ends."""
    global _fake  # noqa: PLW0603 - one process, one clock; that is the port
    before, _fake = _fake, clock
    try:
        yield clock
    finally:
        _fake = before

"""A clock that stands still until it is moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from saga_flow import clock
from saga_flow.clock import FakeClock
from saga_flow.exceptions import DefinitionError
from saga_flow.store import dialect


@contextmanager
def fake_clock(start: datetime | None = None) -> Iterator[FakeClock]:
    """
    Let the engine, its database statements included, use one clock that stands still.

    It begins at *start*, an aware datetime, or at the present time; ``advance(…)``
    moves it. Waits of the engine move it too, and take no time.
    """
    if start is not None and start.tzinfo is None:
        raise DefinitionError(
            f"fake_clock(start={start!r}) takes an aware datetime, such as "
            "datetime(2030, 1, 1, tzinfo=UTC)."
        )
    with clock.fixed(FakeClock(start or clock.now())) as fake:
        yield fake


@contextmanager
def standing_still() -> Iterator[None]:
    """Go on with the clock that a test has bound, or bind one for the block."""
    if clock.bound() is not None:
        yield
        return
    # The database's time, which the rows bear, and not that of this machine.
    with fake_clock(dialect.read_now()):
        yield


def move_to(moment: datetime) -> None:
    """Move the bound clock on to *moment*; never back."""
    ahead = moment - clock.now()
    if ahead > timedelta():
        clock.pause(ahead.total_seconds())

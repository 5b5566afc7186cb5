"""Time that stands still, and an executor that only collects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from saga_flow import clock, holdings
from saga_flow.records import Wake
from saga_flow.store import outbox
from saga_flow.sweeps import liveness


@pytest.fixture
def time() -> Iterator[clock.FakeClock]:
    """Database time and monotonic time, moved by hand."""
    fake = clock.FakeClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    with clock.fixed(fake):
        yield fake


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    return wakes


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    holdings.clear()
    liveness.note(None)

"""Parcels whose bodies a test can enter, and an executor that only collects."""

from __future__ import annotations

import pytest

from saga_flow.records import Wake
from saga_flow.store import outbox
from tests.support import parcels


@pytest.fixture(autouse=True)
def _fresh(sent: list[Wake]) -> None:
    parcels.forget()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out; none is acted upon."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    return wakes

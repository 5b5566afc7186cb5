"""A registry of each test's own, and an executor that only collects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from saga_flow.records import Wake
from saga_flow.store import outbox
from saga_flow.testing import isolated_registry


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with isolated_registry():
        yield


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out; none is acted upon."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    return wakes

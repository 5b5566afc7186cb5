"""A registry of each test's own, and doors that remember what went through them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from saga_flow import registry
from saga_flow.authoring import ports
from tests.unit.authoring.doors import FakeClient, FakeQueries


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with registry.isolated():
        yield


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """The write door."""
    fake = FakeClient()
    monkeypatch.setattr(ports._Bound, "client", fake)
    return fake


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> FakeQueries:
    """The read door."""
    fake = FakeQueries()
    monkeypatch.setattr(ports._Bound, "queries", fake)
    return fake

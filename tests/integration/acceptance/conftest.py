"""A registry of each test's own, and an executor that works when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from saga_flow import jobs
from saga_flow.authoring.handle import Handle
from saga_flow.executors import inline
from saga_flow.store import outbox
from saga_flow.testing import isolated_registry


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with isolated_registry():
        yield


Play = Callable[[Handle[Any]], Handle[Any]]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Do what the executor was handed, and return the run as it then stands."""
    monkeypatch.setattr(outbox, "_send", inline.wake)
    inline.clear()

    def play(handle: Handle[Any]) -> Handle[Any]:
        inline.drain(jobs.execute)
        return handle.refresh()

    yield play
    inline.clear()

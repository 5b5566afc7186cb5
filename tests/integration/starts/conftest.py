"""A workflow that waits, an executor that does nothing, and a second database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from django.test import override_settings

from saga_flow import Workflow
from saga_flow.testing import isolated_registry


@pytest.fixture(autouse=True)
def _nobody_drives() -> Iterator[None]:
    with isolated_registry(), override_settings(SAGA_FLOW={"EXECUTOR": "none"}):
        yield


@pytest.fixture
def order(_nobody_drives: None) -> type[Workflow]:
    """Waits for a word to go."""

    class Order(Workflow):
        class Meta:
            name = "starts.order"

        def handle(self) -> None:
            self.signal("go").wait()

    return Order


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The alias of a database that is not the engine's."""
    alias = "elsewhere"
    connections.settings[alias] = {
        **connections.settings["default"],
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(tmp_path / "elsewhere.sqlite3"),
        "OPTIONS": {},
    }
    # ensure_connection() is refused in a test for what no setting names
    connections[alias].connect()
    yield alias
    connections[alias].close()
    del connections[alias]
    del connections.settings[alias]

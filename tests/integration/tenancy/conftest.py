"""Hooks in the settings, and clean notes before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

from saga_flow.testing import isolated_registry
from tests.integration.tenancy import hooks

HOOKS = {
    "TENANCY_CAPTURE": f"{hooks.HERE}.capture",
    "TENANCY_RESTORE": f"{hooks.HERE}.restore",
    "EXECUTOR": "none",
}


@pytest.fixture(autouse=True)
def _world() -> Iterator[None]:
    for notes in (hooks.broken, hooks.broken_ends, hooks.entered):
        notes.clear()
    with isolated_registry(), override_settings(SAGA_FLOW=HOOKS):
        yield
    assert hooks.current.get() == "public"

"""
Fixtures for pytest, found by its entry point (docs/testing.md).

This is imported before Django is set up, and where it never is: what needs the tables
is imported by the fixtures, and pytest by nothing else of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.apps import apps

if TYPE_CHECKING:
    from saga_flow.clock import FakeClock


@pytest.fixture(autouse=True)
def _saga_flow_starts_clean() -> Iterator[None]:
    """What a test has left of the engine in this process is gone for the next one."""
    yield
    if apps.ready and apps.is_installed("saga_flow"):
        from saga_flow.testing import reset  # noqa: PLC0415 - see above

        reset()


@pytest.fixture
def saga_clock() -> Iterator[FakeClock]:
    """A clock for the engine that stands still until ``advance(…)`` moves it."""
    from saga_flow.testing import fake_clock  # noqa: PLC0415 - see above

    with fake_clock() as clock:
        yield clock


@pytest.fixture
def saga_drain(request: pytest.FixtureRequest) -> Callable[..., int]:
    """:func:`saga_flow.testing.drain`, with access to the database."""
    from saga_flow.testing import drain  # noqa: PLC0415 - see above

    if request.config.pluginmanager.hasplugin("django"):
        request.getfixturevalue("db")
    return drain


@pytest.fixture
def saga_registry() -> Iterator[None]:
    """Workflows and actions that the test defines are forgotten afterwards."""
    from saga_flow.testing import isolated_registry  # noqa: PLC0415 - see above

    with isolated_registry():
        yield

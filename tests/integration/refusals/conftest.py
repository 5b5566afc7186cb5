"""A registry of each test's own, and a count of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.apps import apps

from saga_flow.testing import isolated_registry


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with isolated_registry():
        yield


WritesOnly = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def writes_only() -> WritesOnly:
    """Assert that a block adds these rows to engine and job tables, and no other."""

    @contextmanager
    def check(**expected: int) -> Iterator[None]:
        before = _counts()
        yield
        after = _counts()
        added = {name: after[name] - before[name] for name in after}
        assert {name: count for name, count in added.items() if count} == expected

    return check


def _counts() -> dict[str, int]:
    models = [
        model
        for label in ("saga_flow", "django_q")
        for model in apps.get_app_config(label).get_models()
    ]
    return {model.__name__: model._default_manager.count() for model in models}

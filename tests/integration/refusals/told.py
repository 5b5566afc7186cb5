"""Expecting an error that says all that somebody needs to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from saga_flow.exceptions import SagaFlowError


@contextmanager
def refused(error: type[SagaFlowError], *parts: str) -> Iterator[None]:
    """Assert that the block raises *error*, whose message holds all *parts*."""
    with pytest.raises(error) as caught:
        yield
    assert type(caught.value) is error
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, f"{missing} is not in: {caught.value}"

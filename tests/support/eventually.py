"""Waiting for what another process does: the one place where tests look again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_SECONDS = 0.05


def eventually(
    look: Callable[[], T | None],
    what: str,
    *,
    within: float = 60,
    details: Callable[[], str] = str,
) -> T:
    """
    Look until it is there (true), and return it.

    Raises AssertionError after *within* seconds, saying *what* was waited for and
    the *details* of the moment.
    """
    limit = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > limit:
            raise AssertionError(f"not within {within} s: {what}. {details()}")
        time.sleep(LOOK_SECONDS)
    return found

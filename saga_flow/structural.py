"""Structural limits: how large a run may grow (docs/operations.md)."""

from __future__ import annotations

import logging
from typing import Final

from saga_flow import conf
from saga_flow.exceptions import LimitExceeded

logger = logging.getLogger("saga_flow.limits")

NEAR: Final = 0.8
"""The share of a limit from which on there is a warning."""


def is_over(count: int, limit: int) -> bool:
    """Whether *count* is more than *limit* allows; 0 allows everything."""
    return 0 < limit < count


def is_near(count: int, limit: int) -> bool:
    """Whether *count* has come to 80 % of *limit*."""
    return limit > 0 and count >= NEAR * limit


def comes_near(before: int, after: int, limit: int) -> bool:
    """Whether it is this change that brings a count to 80 % of *limit*."""
    return is_near(after, limit) and not is_near(before, limit)


def check(name: str, before: int, after: int, *, what: str) -> bool:
    """
    Hold a count that grows against the setting *name*.

    Returns whether it has just come near, which is logged. Raises LimitExceeded.
    """
    limit: int = getattr(conf.get(), name)
    if is_over(after, limit):
        raise LimitExceeded(what=what, limit=name, value=limit, count=after)
    near = comes_near(before, after, limit)
    if near:
        warn(name, after, limit, what=what)
    return near


def warn(name: str, count: int, limit: int, *, what: str) -> None:
    """Log that *what* is near the limit *name*."""
    logger.warning(
        "%s come to %s; SAGA_FLOW[%r] allows %s", what, f"{count:,}", name, f"{limit:,}"
    )


def note_size(text: str, *, what: str) -> str:
    """Return *text*; once in this process it is logged that its kind is near."""
    limit = conf.get().MAX_PAYLOAD_BYTES
    if is_near(len(text), limit) and what not in _noted and len(_noted) < _KINDS:
        _noted.add(what)
        warn("MAX_PAYLOAD_BYTES", len(text), limit, what=f"The bytes of the {what}")
    return text


_KINDS: Final = 1000
_noted: set[str] = set()
"""Kinds of payload that have been told of: code has few, and each is told of once."""

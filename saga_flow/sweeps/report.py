"""What a sweep did, in counts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

logger = logging.getLogger("saga_flow.sweeps")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Counts by what was done, and where the next page begins, if that matters."""

    counts: Mapping[str, int]
    cursor: Mapping[str, Any] = field(default_factory=dict)

    @property
    def touched(self) -> int:
        """How many rows it changed."""
        return sum(self.counts.values())

    def as_json(self) -> dict[str, Any]:
        """The report as it is stored and printed."""
        found: dict[str, Any] = {"counts": dict(self.counts)}
        if self.cursor:
            found["cursor"] = dict(self.cursor)
        return found


def tally(counts: Counter[str], name: str, rows: Iterable[T], act: Acts[T]) -> None:
    """
    Do *act* for each of *rows* and count under *name* those that it changed.

    A row that raises is logged and counted as failed, and the others go on.
    """
    for row in rows:
        try:
            counts[name] += act(row)
        # One row that can't be touched must not keep the whole page from its turn.
        except Exception:
            counts["failed"] += 1
            logger.exception("The sweep %s failed at %s", name, row)


Acts = Callable[[T], bool]

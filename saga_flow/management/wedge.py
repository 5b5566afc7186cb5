"""
Whether a cluster has stopped taking up work without having ended.

A cluster whose queue lock died with a worker looks idle to itself for ever. It shows
in the engine's rows: work is due, workers beat, none of them has anything in hand,
and nothing happens in any journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from saga_flow.store.pressure import Pressure


@dataclass(slots=True)
class Wedge:
    """Watches for *patience* seconds in which due work waits and nothing moves."""

    patience: float
    since: float | None = None
    line: int = 0

    def seen(self, pressure: Pressure, now: float) -> bool:
        """Whether, at *now* on a monotonic clock, the cluster counts as wedged."""
        if self._moves(pressure):
            self.since, self.line = None, pressure.newest_line
            return False
        if self.since is None:
            self.since = now
        return now - self.since >= self.patience

    def _moves(self, pressure: Pressure) -> bool:
        return (
            pressure.newest_line != self.line
            or pressure.busy > 0
            or pressure.live == 0
            or not _overdue(pressure)
        )


def _overdue(pressure: Pressure) -> bool:
    # What became due a moment ago is on its way and proves nothing.
    if pressure.due_since is None:
        return False
    return pressure.now - pressure.due_since > timedelta(seconds=5)

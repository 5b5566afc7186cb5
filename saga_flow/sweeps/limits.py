"""Ends attempts of steps and undos that are over a limit."""

from __future__ import annotations

from collections import Counter

from saga_flow.engine import limits as engine
from saga_flow.store import limits
from saga_flow.sweeps.report import SweepReport, tally


def run(limit: int) -> SweepReport:
    """End up to *limit* attempts over each kind of limit; counts those it ended."""
    counts: Counter[str] = Counter(attempts=0)
    tally(counts, "attempts", limits.overrun(limit), engine.enforce)
    return SweepReport(counts=counts)

"""Wakes what is due: timers, retry delays, deadlines of waits, starts, lost jobs."""

from __future__ import annotations

from collections import Counter

from saga_flow.store import wake
from saga_flow.sweeps.report import SweepReport, tally


def run(limit: int) -> SweepReport:
    """Hint at up to *limit* due runs and as many due queued steps."""
    counts: Counter[str] = Counter(runs=0, steps=0)
    tally(counts, "runs", wake.due_runs(limit), wake.wake_run)
    tally(counts, "steps", wake.due_steps(limit), wake.wake_step)
    return SweepReport(counts=counts)

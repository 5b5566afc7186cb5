"""Expires runs that are past their deadline."""

from __future__ import annotations

from collections import Counter

from saga_flow.engine import ending
from saga_flow.store import deadlines
from saga_flow.sweeps.report import SweepReport, tally


def run(limit: int) -> SweepReport:
    """
    Expire up to *limit* overdue runs.

    Counts those whose undos now run; the others are closed or held off at once.
    """
    counts: Counter[str] = Counter(expired=0)
    tally(counts, "expired", deadlines.overdue(limit), ending.expire)
    return SweepReport(counts=counts)

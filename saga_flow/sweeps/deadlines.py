"""Expires runs, and then steps, that are past their deadline."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from saga_flow.engine import ending
from saga_flow.states import FlowStatus
from saga_flow.store import deadlines
from saga_flow.sweeps.report import SweepReport, tally


def run(limit: int) -> SweepReport:
    """
    Expire up to *limit* overdue runs, and as many overdue steps.

    Counts the runs that it closed at once, those whose undos now run, and the steps;
    the others were held off, or somebody else was first.
    """
    counts: Counter[str] = Counter(expired=0, rolling_back=0, steps=0)

    def expire(run: UUID) -> bool:
        status = ending.expire(run)
        counts["rolling_back"] += status is FlowStatus.CANCELLING
        return status is FlowStatus.EXPIRED

    tally(counts, "expired", deadlines.overdue(limit), expire)
    tally(counts, "steps", deadlines.overdue_steps(limit), ending.expire_step)
    return SweepReport(counts=counts)

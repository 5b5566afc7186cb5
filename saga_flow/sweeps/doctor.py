"""
Finds open runs that nothing will ever wake, and wakes them.

It goes through all open runs, one page at a time and round again; where the next
page begins is kept in its report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from saga_flow.store import leases, repair, wake
from saga_flow.store.repair import Place
from saga_flow.sweeps.report import SweepReport, tally


def run(limit: int) -> SweepReport:
    """Look at the next *limit* open runs of each status."""
    counts: Counter[str] = Counter(runs=0, steps=0)
    before = _cursor()
    after: dict[str, Any] = {}
    for status in sorted(wake.WAKEABLE):
        places = repair.page(status, _place(before.get(status.value)), limit)
        _examine([run for _, run in places], counts)
        if len(places) == limit:
            after[status.value] = [places[-1][0].isoformat(), str(places[-1][1])]
    return SweepReport(counts=counts, cursor=after)


def _examine(runs: list[UUID], counts: Counter[str]) -> None:
    tally(counts, "runs", repair.stuck(runs), repair.repair)
    for run in repair.with_free_steps(runs):
        tally(counts, "steps", wake.free_steps(run), wake.wake_step)


def _cursor() -> Mapping[str, Any]:
    for ran in leases.ran():
        if ran.name == "doctor":
            found: Mapping[str, Any] = ran.report.get("cursor", {})
            return found
    return {}


def _place(stored: Any) -> Place | None:
    if stored is None:
        return None
    at, run = stored
    return datetime.fromisoformat(at), UUID(run)

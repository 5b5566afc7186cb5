"""
Declares silent workers lost and wakes what they had.

Only in the process that leads, and only while its own ticks and clock are sound:
anywhere else silence proves nothing, and this sweep merely tidies.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Final
from uuid import UUID

from saga_flow.store import wake, workers
from saga_flow.sweeps import liveness
from saga_flow.sweeps.report import SweepReport, tally

KEEP: Final = timedelta(days=1)
"""How long rows of workers that ended are kept for people to see."""


def run(limit: int) -> SweepReport:
    """Declare up to *limit* workers lost, and forget those that ended long ago."""
    counts: Counter[str] = Counter(lost=0, steps=0, rollbacks=0, forgotten=0)
    if liveness.may_judge():
        for worker in workers.silent(limit):
            if workers.declare_lost(worker):
                counts["lost"] += 1
                _wake_what_it_had(worker, counts)
    counts["forgotten"] = workers.forget_ended(KEEP, limit)
    return SweepReport(counts=counts)


def _wake_what_it_had(worker: UUID, counts: Counter[str]) -> None:
    # Its runs are due already: a claim leaves wake_at standing.
    tally(counts, "steps", wake.orphaned_steps(worker), wake.wake_step)
    tally(counts, "rollbacks", wake.rollbacks_of(worker), wake.set_due)

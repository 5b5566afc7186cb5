"""The one worker that looks after all: it sweeps, and it judges the silent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from saga_flow import clock, sweeps
from saga_flow.store import dialect, leases
from saga_flow.sweeps import liveness
from saga_flow.sweeps.report import SweepReport

logger = logging.getLogger(__name__)

NEVER: Final = float("-inf")

RENEW: Final = 5.0
"""Seconds between two renewals of the lease; who has it not asks at every tick."""

MARGIN: Final = 2.0
"""Seconds before the lease ends in the database from which it no longer counts."""

RECORD: Final = 60.0
"""Seconds between two notes of when a sweep ran: a tick by itself writes nothing."""

EVERY: Final[Mapping[str, float]] = {
    "due_work": 1.0,
    "deadlines": 2.0,
    "limits": 1.0,
    "workers": 1.0,
    "doctor": 60.0,
}
"""Seconds between two runs of each sweep."""


def due(last: Mapping[str, float], now: float) -> list[str]:
    """The sweeps whose turn has come, given when each last began."""
    slack = 0.1
    return [
        name
        for name, every in EVERY.items()
        if now - last.get(name, NEVER) >= every - slack
    ]


def _unheard(name: str, report: SweepReport) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class Leader:
    """One worker's bid to lead, and what it does once it does."""

    tell: Callable[[str, SweepReport], None] = _unheard
    """Hears of each sweep."""

    asked: float = NEVER
    until: float = NEVER
    swept: dict[str, float] = field(default_factory=dict)
    recorded: dict[str, float] = field(default_factory=dict)

    def tick(self, worker: UUID) -> None:
        """Renew the lease if that is due, and sweep if this worker leads."""
        now = clock.monotonic()
        if now >= self.until or now - self.asked >= RENEW:
            self._ask(worker, now)
        if now >= self.until:
            liveness.note(None)
            return
        liveness.note(
            liveness.Tick(monotonic=clock.monotonic(), database=dialect.read_now())
        )
        for name in due(self.swept, now):
            self.swept[name] = now
            self._sweep(name, now)

    def _ask(self, worker: UUID, now: float) -> None:
        self.asked = now
        if leases.acquire(leases.LEADER, worker):
            # Counted from before the question: in the database it ends later.
            self.until = now + leases.TERM.total_seconds() - MARGIN
        else:
            self.until = NEVER

    def _sweep(self, name: str, now: float) -> None:
        try:
            self.tell(name, self._run(name, now))
        # One sweep that fails, say for a broken workflow, must not keep the others
        # from finding the dead.
        except Exception:
            logger.exception("The sweep %s failed; its next turn comes", name)

    def _run(self, name: str, now: float) -> SweepReport:
        # The doctor's report says where its next page begins.
        if name != "doctor" and now - self.recorded.get(name, NEVER) < RECORD:
            return sweeps.run(name)
        self.recorded[name] = now
        return sweeps.run_and_record(name)

    def resign(self, worker: UUID) -> None:
        """Let another lead at once, if this worker does."""
        liveness.note(None)
        if clock.monotonic() < self.until:
            self.until = NEVER
            leases.give_up(leases.LEADER, worker)

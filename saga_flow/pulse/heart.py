"""One process's pulse, a tick at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from saga_flow import clock
from saga_flow.pulse.janitor import Janitor
from saga_flow.pulse.leader import Leader
from saga_flow.store import release, workers

TICK: Final = 1.0
"""Seconds between two ticks."""

BEAT: Final = 5.0
"""Seconds between two signs of life."""


@dataclass(slots=True)
class Heart:
    """Beats for this process and, if it *leads*, bids for the lead."""

    queue: str = ""
    leads: bool = True
    beaten: float = float("-inf")
    janitor: Janitor = field(default_factory=Janitor)
    leader: Leader = field(default_factory=Leader)

    def tick(self) -> None:
        """What is due this second. Database errors are the caller's to see."""
        now = clock.monotonic()
        if now - self.beaten >= BEAT:
            self._beat()
            # Only after it went through: a failed one is tried again next second.
            self.beaten = now
        if self.leads:
            self.leader.tick(workers.ensure(self.queue))

    def _beat(self) -> None:
        me = workers.ensure(self.queue)
        if not workers.beat(me):
            # Lost meanwhile: the next ensure() drops the claims and begins anew.
            return
        self.janitor.look(me)

    def stop(self) -> None:
        """End in good order: resign, leave, and give back what is still owned."""
        me = workers.current()
        if me is None:
            return
        self.leader.resign(me)
        workers.leave(me)
        release.release_all(me)

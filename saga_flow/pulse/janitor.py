"""Which claims of this worker nobody executes (docs/writes.md, row 23)."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from saga_flow import holdings
from saga_flow.holdings import Holding
from saga_flow.store import release


def abandoned(
    before: frozenset[Holding], owned: frozenset[Holding], held: frozenset[Holding]
) -> tuple[frozenset[Holding], frozenset[Holding]]:
    """
    What to give back now, and what to look at again at the next beat.

    *before* is the second value of the last beat: a claim may be under way at the
    first look, stored and not yet noted, so only what was unheld twice is given back.
    """
    unheld = owned - held
    return unheld & before, unheld - before


@dataclass(slots=True)
class Janitor:
    """Remembers what one beat found, for the next."""

    suspects: frozenset[Holding] = frozenset()

    def look(self, worker: UUID) -> int:
        """Give back what was unheld at the last beat too; return how much."""
        owned = release.owned(worker)
        given, self.suspects = abandoned(self.suspects, owned, holdings.current())
        return sum(release.release(worker, claim) for claim in given)

"""What every figure is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.measuring import OURS, Figure, Sample, in_turns

if TYPE_CHECKING:
    from benchmarks.peers.process import Peer
    from benchmarks.raw import Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One database, and who is measured on it."""

    db: str
    rounds: int
    raw: Raw
    peers: Sequence[Peer] = ()

    def beside(
        self,
        figure: str,
        ours: Sample,
        others: Mapping[str, Sample],
        *,
        unit: str,
        goals: Mapping[str, str] | None = None,
    ) -> list[Figure]:
        """One line for each of *others*, all measured in turns."""
        medians = in_turns({OURS: ours, **others}, self.rounds)
        return [
            Figure(
                figure=figure,
                db=self.db,
                ours=medians[OURS],
                unit=unit,
                beside=name,
                theirs=medians[name],
                ratio=medians[OURS] / medians[name],
                goal=(goals or {}).get(name, ""),
            )
            for name in others
        ]

    def asked(self, question: str) -> dict[str, Sample]:
        """Each peer as one that answers *question* with a sample."""
        return {peer.name: partial(peer.ask, question) for peer in self.peers}

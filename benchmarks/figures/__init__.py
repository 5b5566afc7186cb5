"""The figures, each measured beside what the database can do, and beside peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.figures import claim, drain, history, replay, steps
from benchmarks.measuring import Figure
from benchmarks.setting import Setting

ALL: Final[dict[str, Callable[[Setting], Sequence[Figure]]]] = {
    "steps": steps.steps,
    "start": steps.start,
    "ten": steps.ten,
    "history": history.history,
    "replay": replay.replay,
    "claim": claim.claim,
    "drain": drain.drain,
}

BESIDE_PEERS: Final = ("steps", "start", "ten", "drain")
"""What a peer is asked for too."""

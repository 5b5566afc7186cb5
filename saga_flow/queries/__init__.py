"""
The reading door: what a run is, what it did and what it waits for.

Every answer is a frozen record, read from the database that holds the engine's
tables, never from a replica. Nothing here writes.
"""

from saga_flow.queries.filters import FlowFilter
from saga_flow.queries.operations import (
    attempts,
    children,
    commands,
    compensations,
    history,
    side_effects,
    signals,
    step,
    steps,
    tags,
    timers,
)
from saga_flow.queries.snapshots import locate, snapshot

__all__ = [
    "FlowFilter",
    "attempts",
    "children",
    "commands",
    "compensations",
    "history",
    "locate",
    "side_effects",
    "signals",
    "snapshot",
    "step",
    "steps",
    "tags",
    "timers",
]

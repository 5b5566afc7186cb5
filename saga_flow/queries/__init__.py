"""
The reading door: what a run is, what it did and what it waits for.

Every answer is a frozen record, read from the database that holds the engine's
tables, never from a replica. Nothing here writes.
"""

from saga_flow.queries import runs
from saga_flow.queries.document import export
from saga_flow.queries.filters import FlowFilter, flow_filter
from saga_flow.queries.operations import (
    arguments,
    attempts,
    children,
    command,
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
    "arguments",
    "attempts",
    "children",
    "command",
    "commands",
    "compensations",
    "export",
    "flow_filter",
    "history",
    "locate",
    "runs",
    "side_effects",
    "signals",
    "snapshot",
    "step",
    "steps",
    "tags",
    "timers",
]

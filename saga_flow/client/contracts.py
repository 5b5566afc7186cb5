"""What a run takes, by the contract snapshotted at its start, without its code."""

from __future__ import annotations

import json
from uuid import UUID

from saga_flow import conf, structural
from saga_flow.names import suggestion
from saga_flow.store import history


def unknown_signal(run: UUID, name: str) -> str | None:
    """Why *name* is no signal of the run, or None: it is, or any name goes."""
    declared = json.loads(history.contract(run)).get("signals") or {}
    if not declared or name in declared:
        return None
    return (
        f"Run {run} declares no signal {name!r}; it takes "
        f"{', '.join(sorted(declared))}.{suggestion(name, declared)}"
    )


def payload_problem(name: str, payload: str) -> tuple[str, str] | None:
    """What is wrong with an encoded payload, as outcome and message."""
    limit, size = conf.get().MAX_PAYLOAD_BYTES, len(payload.encode())
    if not structural.is_over(size, limit):
        structural.note_size(payload, what=f"payload of signal {name!r}")
        return None
    return "rejected_structural_limit", (
        f"The payload of signal {name!r} takes {size:,} bytes as JSON; the limit is "
        f"{limit:,}. Store the data elsewhere and send a key to it."
    )

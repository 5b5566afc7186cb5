"""Journal lines: one for each change that people care for, in its transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from saga_flow.models import FlowEvent
from saga_flow.records import Line
from saga_flow.store import dialect
from saga_flow.store.dialect import Sql
from saga_flow.store.pages import pages
from saga_flow.store.sql import FromRun, Insert

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), default=str)


def plus(count: int) -> Sql:
    """The new ``history_seq`` of a guard that is followed by *count* lines."""
    return Sql(f"history_seq + {count:d}")


def insert(run: UUID, lines: Sequence[Line]) -> tuple[Insert, ...]:
    """Lines numbered by the guard's allocation, the last one being its newest."""
    now, last = dialect.now(), len(lines) - 1
    rows = [
        {
            "run_id": run,
            "sequence": FromRun("history_seq", last - number),
            "type": line.type,
            "step": line.step,
            "actor": line.actor[:255],
            "data": line.data,
            "at": now,
        }
        for number, line in enumerate(lines)
    ]
    return tuple(Insert(model=FlowEvent, rows=page) for page in pages(rows))


def line(type_: str, step: int | None = None, *, actor: str = "", **data: Any) -> Line:
    """A line with *data* as JSON."""
    return Line(
        type=type_, step=step, data=_ENCODER.encode(data) if data else "{}", actor=actor
    )

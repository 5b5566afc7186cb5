"""One run: its header, its steps beside their undos, its waits and its journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.presenters.badges import Badge, badge, undo_badge
from dashboard.presenters.durations import took
from dashboard.presenters.failures import Trouble, trouble
from saga_flow.queries.rows import (
    AttemptRow,
    CommandRow,
    CompensationRow,
    JournalRow,
    SignalRow,
    StepRow,
)
from saga_flow.states import MAY_COMPLETE, ActionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One failed, lost or superseded attempt."""

    row: AttemptRow
    status: Badge
    trouble: Trouble | None
    took: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """One undo beside its step."""

    row: CompensationRow
    status: Badge
    trouble: Trouble | None
    tries: tuple[Try, ...]
    took: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step with its attempts and its undo."""

    row: StepRow
    status: Badge
    trouble: Trouble | None
    tries: tuple[Try, ...]
    undo: Undo | None
    took: str

    @property
    def may_complete(self) -> bool:
        """Whether it has completed, or still can: then its undo has a meaning."""
        return self.row.status in MAY_COMPLETE


def steps(
    rows: Iterable[StepRow],
    undos: Iterable[CompensationRow],
    attempts: Sequence[AttemptRow],
    now: datetime,
) -> tuple[Step, ...]:
    """Put each step beside its attempts and its undo."""
    by_ordinal = {undo.sequence: undo for undo in undos}
    tries = _tries(attempts, now)
    return tuple(
        Step(
            row=row,
            status=badge(row.status),
            trouble=trouble(row.error),
            tries=tries.get((row.sequence, False), ()),
            undo=_undo(by_ordinal.get(row.sequence), tries, now),
            took=took(row.started_at, row.closed_at, now),
        )
        for row in rows
    )


def _undo(
    row: CompensationRow | None,
    tries: Mapping[tuple[int, bool], tuple[Try, ...]],
    now: datetime,
) -> Undo | None:
    if row is None:
        return None
    return Undo(
        row=row,
        status=undo_badge(row.status),
        trouble=trouble(row.error),
        tries=tries.get((row.sequence, True), ()),
        took=took(row.started_at, row.closed_at, now),
    )


def _tries(
    attempts: Sequence[AttemptRow], now: datetime
) -> dict[tuple[int, bool], tuple[Try, ...]]:
    found: dict[tuple[int, bool], tuple[Try, ...]] = {}
    for row in attempts:
        one = Try(
            row=row,
            status=badge(row.outcome),
            trouble=trouble(row.error),
            took=took(row.started_at, row.closed_at, now),
        )
        key = (row.sequence, row.undo)
        found[key] = (*found.get(key, ()), one)
    return found


def progress(counts: Mapping[ActionStatus, int]) -> str:
    """``3 of 5 steps completed``, or that none was reached."""
    total = sum(counts.values())
    if not total:
        return "no step yet"
    done = counts.get(ActionStatus.COMPLETED, 0)
    word = "step" if total == 1 else "steps"
    return f"{done:,} of {total:,} {word} completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One wait-marker or delivery."""

    row: SignalRow
    status: Badge
    kind: str


def waits(rows: Iterable[SignalRow]) -> tuple[Wait, ...]:
    """Lay out signals: what the run waits with, and what it was sent."""
    return tuple(
        Wait(
            row=row,
            status=badge(row.status),
            kind="delivery" if row.is_delivery else "wait",
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One journal line; its data as one line of text."""

    row: JournalRow
    data: str


def lines(rows: Iterable[JournalRow]) -> tuple[Line, ...]:
    """Lay out the journal."""
    return tuple(Line(row=row, data=_one_line(row.data)) for row in rows)


def _one_line(data: Mapping[str, object]) -> str:
    if not data:
        return ""
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value, default=str)}"
        for key, value in data.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request to the engine."""

    row: CommandRow
    status: Badge


def commands(rows: Iterable[CommandRow]) -> tuple[Asked, ...]:
    """Lay out what was asked."""
    return tuple(Asked(row=row, status=badge(row.status)) for row in rows)

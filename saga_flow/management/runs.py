"""A run in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from saga_flow.management.base import columns
from saga_flow.management.spans import spoken
from saga_flow.queries.payloads import preview
from saga_flow.queries.rows import AttemptRow, CompensationRow, StepRow
from saga_flow.records import Snapshot
from saga_flow.states import CompensationState, CompensationStatus


def headline(run: Snapshot, undos: Mapping[CompensationStatus, int]) -> str:
    """The status, and how far the run is undone: ``failed, 2 of 3 undone``."""
    told = [run.status.value]
    if run.lease_lost:
        told.append("worker lost")
    total = sum(undos.values())
    if total:
        done = undos.get(CompensationStatus.COMPLETED, 0)
        told.append(f"{done} of {total} undone")
    elif run.compensation_state != CompensationState.NONE:
        told.append(f"undo {run.compensation_state}")
    return ", ".join(told)


def note(run: Snapshot) -> str:
    """One line: what went wrong, or what the run waits for."""
    return failure(run.error) or run.wait_reason


def failure(error: Mapping[str, Any] | None) -> str:
    """An error in one line, or nothing."""
    if error is None:
        return ""
    message = str(error.get("message") or "").partition("\n")[0]
    return f"{error.get('type', 'Error')}: {message}"


def moment(at: datetime) -> str:
    """A time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def took(start: datetime | None, end: datetime | None, now: datetime) -> str:
    """How long it took, or has taken so far; nothing if it has not begun."""
    return "" if start is None else spoken((end or now) - start)


def step_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Each step beside its undo, and under it what went wrong."""
    steps: Sequence[StepRow] = told["steps"]
    undos = {row.sequence: row for row in told["compensations"]}
    laid_out = columns(_cells(row, undos.get(row.sequence)) for row in steps)
    for row, line in zip(steps, laid_out, strict=True):
        yield line
        yield from _troubles(row, undos.get(row.sequence), told["attempts"])


def _cells(row: StepRow, undo: CompensationRow | None) -> tuple[str, ...]:
    tries = f"attempt {row.attempt}" if row.attempt > 1 else ""
    lost = f"{row.lost_attempts} lost" if row.lost_attempts else ""
    doubt = "in doubt" if row.in_doubt else ""
    return (
        f"{row.sequence:>3}",
        row.status.value,
        row.name,
        ", ".join(word for word in (tries, lost, doubt) if word),
        f"undo {undo.status.value}: {undo.name}" if undo else "",
    )


def _troubles(
    row: StepRow, undo: CompensationRow | None, attempts: Sequence[AttemptRow]
) -> Iterator[str]:
    for each in attempts:
        if each.sequence == row.sequence:
            of = "undo, attempt" if each.undo else "attempt"
            told = failure(each.error)
            yield f"       {of} {each.attempt} {each.outcome}" + (
                f": {told}" if told else ""
            )
    if row.progress is not None and row.closed_at is None:
        yield f"       says {preview(row.progress, limit=200).text}"
    if row.error is not None:
        yield f"       {failure(row.error)}"
    if undo is not None and undo.error is not None:
        yield f"       undo: {failure(undo.error)}"

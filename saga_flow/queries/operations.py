"""
What one run did, table by table, in the order in which it did it.

Without a limit a reader returns everything; a caller that shows big runs pages with
*after* (the last ordinal, row or journal number it has) and *limit*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Count, QuerySet

from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowChild,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowSignal,
    FlowTag,
    FlowTimer,
    SideEffect,
)
from saga_flow.queries.payloads import line_data, shown
from saga_flow.queries.reading import M, read, rows_of
from saga_flow.queries.rows import (
    AttemptRow,
    ChildRow,
    CommandRow,
    CompensationRow,
    JournalRow,
    SideEffectRow,
    SignalRow,
    StepRow,
    TagRow,
    TimerRow,
)
from saga_flow.states import ActionStatus, CompensationStatus
from saga_flow.store.options import load_redaction

Row = TypeVar("Row", StepRow, CompensationRow)


def steps(
    run_id: UUID,
    *,
    after: int | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[StepRow, ...]:
    """The run's steps by ordinal."""
    found = _by_ordinal(ActionRun, run_id, after)
    return tuple(map(_redacted, read(StepRow, found[:limit], payloads=payloads)))


def step(run_id: UUID, sequence: int) -> StepRow | None:
    """The step at ordinal *sequence*, or None when no step is recorded there."""
    found = rows_of(ActionRun).filter(run_id=run_id, sequence=sequence)
    return next(map(_redacted, read(StepRow, found)), None)


def attempts(
    run_id: UUID,
    *,
    sequences: Iterable[int] | None = None,
    after: int | None = None,
    limit: int | None = None,
) -> tuple[AttemptRow, ...]:
    """
    Failed, lost and superseded tries, of steps and of undos, in order.

    A success at the first try leaves no row. With *sequences*, of these steps only;
    with *after*, a row's id, in the order in which they were written.
    """
    found = rows_of(ActionAttempt).filter(run_id=run_id)
    if sequences is not None:
        found = found.filter(sequence__in=list(sequences))
    ordered = _ordered(found, after, "sequence", "undo", "attempt", "id")
    return read(AttemptRow, ordered[:limit])


def compensations(
    run_id: UUID,
    *,
    sequences: Iterable[int] | None = None,
    after: int | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[CompensationRow, ...]:
    """
    The run's undos in the order of its rollback; empty until one was planned.

    With *after*, a row's id, in the order in which they were planned.
    """
    found = rows_of(CompensationRun).filter(run_id=run_id)
    if sequences is not None:
        found = found.filter(sequence__in=list(sequences))
    ordered = _ordered(found, after, "order", "id")[:limit]
    return tuple(map(_redacted, read(CompensationRow, ordered, payloads=payloads)))


def signals(
    run_id: UUID,
    *,
    after: int | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[SignalRow, ...]:
    """Wait-markers and deliveries, in the order in which they were written."""
    found = _by_row(FlowSignal, run_id, after)
    return read(SignalRow, found[:limit], payloads=payloads)


def timers(
    run_id: UUID, *, after: int | None = None, limit: int | None = None
) -> tuple[TimerRow, ...]:
    """The run's durable sleeps by ordinal."""
    return read(TimerRow, _by_ordinal(FlowTimer, run_id, after)[:limit])


def side_effects(
    run_id: UUID,
    *,
    after: int | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[SideEffectRow, ...]:
    """The run's recorded values by ordinal."""
    found = _by_ordinal(SideEffect, run_id, after)
    return read(SideEffectRow, found[:limit], payloads=payloads)


def children(
    run_id: UUID,
    *,
    after: int | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[ChildRow, ...]:
    """Links to the runs that this run started, by ordinal."""
    found = _by_ordinal(FlowChild, run_id, after)
    return read(ChildRow, found[:limit], payloads=payloads)


def commands(
    run_id: UUID,
    *,
    after: UUID | None = None,
    limit: int | None = None,
    payloads: bool = True,
) -> tuple[CommandRow, ...]:
    """
    What was asked of the run, also in vain: the newest *limit*, oldest first.

    With *after*, a command's id, the first *limit* that follow it.
    """
    found = rows_of(FlowCommand).filter(run_id=run_id)
    ordered = _ordered(found, after, "-created_at", "-id")
    rows = read(CommandRow, ordered[:limit], payloads=payloads)
    return rows[::-1] if after is None else rows


def command(command_id: UUID) -> CommandRow | None:
    """One request to the engine, or None when there was none with this id."""
    found = rows_of(FlowCommand).filter(pk=command_id)
    return next(iter(read(CommandRow, found)), None)


def arguments(run_id: UUID) -> str | None:
    """The stored arguments of the run; None of a reservation."""
    found = rows_of(FlowRun).filter(pk=run_id).values_list("arguments", flat=True)
    return found.first()


def history(
    run_id: UUID,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int | None = None,
    newest_first: bool = False,
) -> tuple[JournalRow, ...]:
    """The run's journal; *after* and *before* are journal numbers, both exclusive."""
    found = rows_of(FlowEvent).filter(run_id=run_id)
    if after is not None:
        found = found.filter(sequence__gt=after)
    if before is not None:
        found = found.filter(sequence__lt=before)
    order = "-sequence" if newest_first else "sequence"
    rows = read(JournalRow, found.order_by(order)[:limit])
    return tuple(replace(row, data=line_data(row.data)) for row in rows)


def late_results(step: StepRow) -> tuple[str, ...]:
    """Results of *step* that came too late to be recorded, as stored, oldest first."""
    found = rows_of(FlowEvent).filter(
        run_id=step.run_id, step=step.sequence, type="action.outcome_rejected"
    )
    hidden = load_redaction(step.options or "{}")
    return tuple(
        shown("result", data["result"], hidden)
        for line in read(JournalRow, found.order_by("sequence"))
        if (data := line.data).get("result") is not None
    )


def tags(run_id: UUID) -> tuple[TagRow, ...]:
    """The run's labels by key."""
    return read(TagRow, rows_of(FlowTag).filter(run_id=run_id).order_by("key"))


def tags_of(run_ids: Iterable[UUID]) -> Mapping[UUID, Mapping[str, str]]:
    """The labels of several runs, read at once; a run without any is left out."""
    labels: dict[UUID, dict[str, str]] = {}
    found = rows_of(FlowTag).filter(run_id__in=list(run_ids)).order_by("run_id", "key")
    for run_id, key, value in found.values_list("run_id", "key", "value"):
        labels.setdefault(run_id, {})[key] = value
    return labels


def step_counts(run_id: UUID) -> Mapping[ActionStatus, int]:
    """How many steps of the run stand in each status; statuses without any are out."""
    found = rows_of(ActionRun).filter(run_id=run_id).order_by().values("status")
    return {
        ActionStatus(each["status"]): each["total"]
        for each in found.annotate(total=Count("pk"))
    }


def undo_counts(
    run_ids: Iterable[UUID],
) -> Mapping[UUID, Mapping[CompensationStatus, int]]:
    """How many undos of several runs stand in each status; runs without any are out."""
    counts: dict[UUID, dict[CompensationStatus, int]] = {}
    found = rows_of(CompensationRun).filter(run_id__in=list(run_ids)).order_by()
    for each in found.values("run_id", "status").annotate(total=Count("pk")):
        status = CompensationStatus(each["status"])
        counts.setdefault(each["run_id"], {})[status] = each["total"]
    return counts


def _redacted(row: Row) -> Row:
    """*row* without what nobody is to be shown; one without payloads has nothing."""
    if row.options is None:
        return row
    redaction = load_redaction(row.options)
    columns = {"arguments": row.arguments, "result": getattr(row, "result", None)}
    changes: dict[str, Any] = {
        column: shown(column, stored, redaction)
        for column, stored in columns.items()
        if stored is not None
    }
    return replace(row, **changes)


def _ordered(found: QuerySet[M], after: object, *order: str) -> QuerySet[M]:
    if after is None:
        return found.order_by(*order)
    return found.filter(pk__gt=after).order_by("pk")


def _by_ordinal(model: type[M], run_id: UUID, after: int | None) -> QuerySet[M]:
    found = rows_of(model).filter(run_id=run_id).order_by("sequence")
    return found if after is None else found.filter(sequence__gt=after)


def _by_row(model: type[M], run_id: UUID, after: int | None) -> QuerySet[M]:
    found = rows_of(model).filter(run_id=run_id).order_by("pk")
    return found if after is None else found.filter(pk__gt=after)

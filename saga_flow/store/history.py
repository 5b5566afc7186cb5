"""Reading a run's recorded operations, a bounded number of queries (row 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db import models

from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowChild,
    FlowRun,
    FlowSignal,
    FlowTimer,
    SideEffect,
)
from saga_flow.records import (
    ChildFacts,
    Facts,
    SideEffectFacts,
    SignalFacts,
    StepFacts,
    TimerFacts,
    UndoFacts,
)
from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    CompensationStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)
from saga_flow.store import dialect

R = TypeVar("R")

_STEP: Final = tuple(f for f in StepFacts.__dataclass_fields__)
_SIGNAL: Final = tuple(f for f in SignalFacts.__dataclass_fields__)
_UNDO: Final = tuple(f for f in UndoFacts.__dataclass_fields__)


def _rows(
    model: type[models.Model],
    fields: tuple[str, ...],
    make: Callable[[dict[str, Any]], R],
    run: UUID,
) -> Iterator[R]:
    """Rows of *run*, by ordinal, read from the writing side."""
    query = (
        model._default_manager.using(dialect.alias())
        .filter(run_id=run)
        .order_by("sequence", "pk")
        .values_list(*fields)
    )
    for row in query.iterator(chunk_size=2000):
        yield make(dict(zip(fields, row, strict=True)))


def _step(row: dict[str, Any]) -> StepFacts:
    row["status"] = ActionStatus(row["status"])
    return StepFacts(**row)


def _signal(row: dict[str, Any]) -> SignalFacts:
    row["status"] = SignalStatus(row["status"])
    return SignalFacts(**row)


def _timer(row: dict[str, Any]) -> TimerFacts:
    row["status"] = TimerStatus(row["status"])
    return TimerFacts(**row)


def _side_effect(row: dict[str, Any]) -> SideEffectFacts:
    row["kind"] = SideEffectKind(row["kind"])
    return SideEffectFacts(**row)


def _child(row: dict[str, Any]) -> ChildFacts:
    row["status"] = ChildStatus(row["status"])
    return ChildFacts(**row)


def _undo(row: dict[str, Any]) -> UndoFacts:
    row["status"] = CompensationStatus(row["status"])
    return UndoFacts(**row)


def inbox(run: UUID) -> int:
    """The run's inbox; on a reload it is read before the rows."""
    runs = FlowRun.objects.using(dialect.alias())
    return runs.values_list("inbox", flat=True).get(pk=run)


def steps(run: UUID) -> tuple[StepFacts, ...]:
    """All steps of *run*, by ordinal."""
    return tuple(_rows(ActionRun, _STEP, _step, run))


def step(run: UUID, sequence: int) -> StepFacts:
    """One step of *run*."""
    rows = ActionRun.objects.using(dialect.alias()).filter(run_id=run)
    row = rows.values_list(*_STEP).get(sequence=sequence)
    return _step(dict(zip(_STEP, row, strict=True)))


def undos(run: UUID) -> tuple[UndoFacts, ...]:
    """All undos of *run*, in the order in which they are done."""
    found = _rows(CompensationRun, _UNDO, _undo, run)
    return tuple(sorted(found, key=lambda undo: (undo.level, undo.order)))


def load(run: UUID) -> Facts:
    """Everything that a replay of *run* needs: five queries, whatever its length."""
    signals = tuple(_rows(FlowSignal, _SIGNAL, _signal, run))
    unread = (s for s in signals if s.status is SignalStatus.RECEIVED)
    return Facts(
        steps=_by_ordinal(_rows(ActionRun, _STEP, _step, run)),
        markers={s.sequence: s for s in signals if s.sequence is not None},
        unread=tuple(sorted(unread, key=lambda s: s.received_seq or 0)),
        payloads={s.id: s.payload for s in signals},
        timers=_by_ordinal(
            _rows(FlowTimer, ("id", "sequence", "status", "fire_at"), _timer, run)
        ),
        side_effects=_by_ordinal(
            _rows(
                SideEffect, ("sequence", "kind", "key", "value"), _side_effect, run
            )
        ),
        children=_by_ordinal(
            _rows(
                FlowChild,
                ("sequence", "child", "workflow_name", "status", "result", "error"),
                _child,
                run,
            )
        ),
    )


def _by_ordinal(rows: Iterable[Any]) -> dict[int, Any]:
    return {row.sequence: row for row in rows}

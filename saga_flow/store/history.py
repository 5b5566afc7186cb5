"""Reading a run's recorded operations, a bounded number of queries (row 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db import models

from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowChild,
    FlowRun,
    FlowSignal,
    FlowTag,
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
    MAY_START_WORK,
    ActionStatus,
    ChildStatus,
    CompensationStatus,
    FlowStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)
from saga_flow.store import dialect

R = TypeVar("R")

WAITS_FOR_STEPS: Final = frozenset({"step", "block"})
"""Kinds of waits that the outcome of a queued step may end."""


WAITS_FOR_CHILDREN: Final = frozenset({"child", "block"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What of a run never changes, and where its jobs go."""

    run: UUID
    instance_id: str
    queue: str
    tenancy: str | None
    """What was captured of the tenant at the start."""

    parent: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come, and whether it has something to do."""

    is_due: bool
    awaits_step: bool
    """Whether a queued step has to be performed before it goes on."""

    awaits_child: bool
    rolls_back: bool
    passes: int
    history_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run's status and what else decides whether it can be driven."""

    status: FlowStatus
    overdue: bool
    """Past its deadline, and not held off because it could not be planned."""

    epoch: int
    intent: str | None


_IDENTITY: Final = ("instance_id", "queue", "tenancy")


def _identity(run: UUID, found: dict[str, Any]) -> Identity:
    return Identity(run=run, parent=found.pop("parent_id"), **found)


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
    # no iterator(): on PostgreSQL that is a cursor of three statements for each table
    for row in query:
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


def identity(run: UUID) -> Identity | None:
    """Who *run* is, or None if it is gone."""
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    found = runs.values(*_IDENTITY, "parent_id").first()
    return None if found is None else _identity(run, found)


def identity_at_work(run: UUID) -> Identity:
    """Who *run* is, of which the caller has claimed something: it is there."""
    runs = FlowRun.objects.using(dialect.alias())
    return _identity(run, runs.values(*_IDENTITY, "parent_id").get(pk=run))


def contract(run: UUID) -> str:
    """The contract snapshotted at the start of *run*, as JSON."""
    runs = FlowRun.objects.using(dialect.alias())
    return runs.values_list("contract", flat=True).get(pk=run)


def progress(run: UUID) -> Progress | None:
    """How far *run* has come and what it has to do; None if it is gone."""
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    row = runs.values("status", "wake_at", "wait_kind", "passes", "history_seq").first()
    if row is None:
        return None
    status, wake_at = row["status"], row["wake_at"]
    drivable = {*MAY_START_WORK, FlowStatus.CANCELLING}
    is_due = wake_at is not None and wake_at <= dialect.read_now()
    return Progress(
        is_due=status in drivable and is_due,
        awaits_step=status in MAY_START_WORK and row["wait_kind"] in WAITS_FOR_STEPS,
        awaits_child=status in MAY_START_WORK
        and row["wait_kind"] in WAITS_FOR_CHILDREN,
        rolls_back=status == FlowStatus.CANCELLING,
        passes=row["passes"],
        history_seq=row["history_seq"],
    )


def memo(run: UUID) -> str:
    """The memo of *run*, as stored."""
    runs = FlowRun.objects.using(dialect.alias())
    return runs.values_list("memo", flat=True).get(pk=run)


def tags(run: UUID) -> list[str]:
    """The keys of the labels of *run*."""
    rows = FlowTag.objects.using(dialect.alias()).filter(run_id=run)
    return list(rows.values_list("key", flat=True))


def holds(run: UUID) -> int:
    """How often in a row *run* was held off because it could not be planned."""
    runs = FlowRun.objects.using(dialect.alias())
    return runs.values_list("holds", flat=True).get(pk=run)


def standing(run: UUID) -> Standing | None:
    """What decides about a hint that was no claim, or None if the run is gone."""
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    row = runs.values("status", "expires_at", "hold_until", "lease_epoch", "intent")
    found = row.first()
    if found is None:
        return None
    now = dialect.read_now()
    late = found["expires_at"] is not None and found["expires_at"] <= now
    held_off = found["hold_until"] is not None and found["hold_until"] > now
    return Standing(
        status=FlowStatus(found["status"]),
        overdue=late and not held_off,
        epoch=found["lease_epoch"],
        intent=found["intent"],
    )


def pass_counter(run: UUID, epoch: int) -> int | None:
    """The pass counter of *run*, or None if its lease was taken over since."""
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run, lease_epoch=epoch)
    return runs.values_list("passes", flat=True).first()


def is_unwanted(run: UUID) -> bool:
    """Whether *run* may start no more work: closed, paused or rolling back."""
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    return not runs.filter(status__in=MAY_START_WORK).exists()


def steps(run: UUID) -> tuple[StepFacts, ...]:
    """All steps of *run*, by ordinal."""
    return tuple(_rows(ActionRun, _STEP, _step, run))


def steps_to_undo(run: UUID) -> tuple[StepFacts, ...]:
    """Steps of *run* that have no undo yet, by ordinal: what a plan is made of."""
    planned = CompensationRun.objects.using(dialect.alias()).filter(run_id=run)
    undone = set(planned.values_list("sequence", flat=True))
    return tuple(step for step in steps(run) if step.sequence not in undone)


def step(run: UUID, sequence: int) -> StepFacts:
    """One step of *run*."""
    rows = ActionRun.objects.using(dialect.alias()).filter(run_id=run)
    row = rows.values_list(*_STEP).get(sequence=sequence)
    return _step(dict(zip(_STEP, row, strict=True)))


def in_flight(run: UUID) -> tuple[StepFacts, ...]:
    """Steps of *run* that a worker has claimed and not settled."""
    rows = ActionRun.objects.using(dialect.alias()).filter(
        run_id=run, status=ActionStatus.RUNNING
    )
    return tuple(
        _step(dict(zip(_STEP, row, strict=True))) for row in rows.values_list(*_STEP)
    )


def is_held(run: UUID, owner: UUID, epoch: int) -> bool:
    """Whether *owner* still drives the rollback of *run* under this lease."""
    runs = FlowRun.objects.using(dialect.alias()).filter(
        pk=run, lease_owner=owner, lease_epoch=epoch
    )
    return runs.filter(status=FlowStatus.CANCELLING).exists()


def undo_of_run(row: int) -> tuple[UUID, UndoFacts] | None:
    """One undo and the run that it belongs to, or None if it is gone."""
    rows = CompensationRun.objects.using(dialect.alias()).filter(pk=row)
    run = rows.values_list("run_id", flat=True).first()
    return None if run is None else (run, undo(row))


def undo(row: int) -> UndoFacts:
    """One undo."""
    rows = CompensationRun.objects.using(dialect.alias())
    found = rows.values_list(*_UNDO).get(pk=row)
    return _undo(dict(zip(_UNDO, found, strict=True)))


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
            _rows(SideEffect, ("sequence", "kind", "key", "value"), _side_effect, run)
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

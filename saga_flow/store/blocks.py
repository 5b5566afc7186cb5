"""
Blocks in rows: what their members' outcomes mean, and what a decision closes.

A member's ``block`` is the ordinal of the block's first member. When a block is
decided, the members that were open are marked as closed by it; a later replay decides
by that mark again, whatever has become of them since.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from saga_flow.models import ActionRun, FlowSignal, FlowTimer
from saga_flow.records import Losers, Outcome, Wakes
from saga_flow.states import (
    UNSETTLED_STEP,
    ActionStatus,
    ClosedBy,
    SignalStatus,
    TimerStatus,
)
from saga_flow.store import dialect
from saga_flow.store.database_time import Now
from saga_flow.store.dialect import Sql
from saga_flow.store.hints import SENT
from saga_flow.store.sql import Among, Update


def unless_left(available_at: datetime | None) -> tuple[Sql, Sql]:
    """
    Status and time of a member that another attempt is owed.

    None is made if its block was decided without it.
    """
    left = f"closed_by = '{ClosedBy.BLOCK.value}'"
    cancelled, owed = ActionStatus.CANCELLED.value, ActionStatus.PENDING.value
    return (
        Sql(f"CASE WHEN {left} THEN '{cancelled}' ELSE '{owed}' END"),
        Sql(f"CASE WHEN {left} THEN NULL ELSE %s END", (dialect.adapt(available_at),)),
    )


def leave(run: UUID, losers: Losers) -> Iterable[Update]:
    """
    Mark what was open when its block was decided, by what the pass saw.

    A step that was claimed or has settled since is marked too: the mark says what the
    decision was made without.
    """
    if losers.steps:
        yield _leave_steps(run, losers.steps)
    for model, rows, held, status in (
        (FlowSignal, losers.markers, SignalStatus.WAITING, SignalStatus.CANCELLED),
        (FlowTimer, losers.timers, TimerStatus.PENDING, TimerStatus.CANCELLED),
    ):
        if rows:
            yield Update(
                model=model,
                sets={"status": status.value, "closed_at": dialect.now()},
                where={"id": Among(rows), "status": held.value},
                rows=len(rows),
            )


def _leave_steps(run: UUID, sequences: tuple[int, ...]) -> Update:
    now, pending = dialect.now(), f"status = '{ActionStatus.PENDING.value}'"
    closed_at = f"CASE WHEN {pending} THEN {now.text} ELSE closed_at END"
    status = (
        f"CASE WHEN {pending} THEN '{ActionStatus.CANCELLED.value}' ELSE status END"
    )
    return Update(
        model=ActionRun,
        sets={
            "closed_by": ClosedBy.BLOCK.value,
            "available_at": None,
            # the status last: MariaDB evaluates assignments from left to right
            "closed_at": Sql(closed_at, now.parameters),
            "status": Sql(status),
        },
        where={"run_id": run, "sequence": Among(sequences)},
        rows=len(sequences),
    )


def lets_go_on(run: UUID, held: Outcome) -> bool:
    """
    Whether the outcome of a block's member may have decided its block.

    Counted from rows, under the run's lock, after the outcome itself was written.
    """
    member = held.member
    if member is None or member.wakes is Wakes.EACH:
        return True
    if member.wakes is Wakes.FAILURE and _fails(held):
        return True
    # from the end: that is where members are open the longest
    return not (
        _members(run, held)
        .filter(status__in=UNSETTLED_STEP, closed_by__isnull=True)
        .order_by("-sequence")
        .values("pk")[:1]
    )


def _fails(held: Outcome) -> bool:
    failed = held.status in (ActionStatus.FAILED, ActionStatus.EXPIRED)
    return failed and not held.optional


def send_next(run: UUID, held: Outcome) -> tuple[int, str] | None:
    """
    Let the next member of a limited block start, now that one has settled.

    Its row and queue, for its job; None if all have been let go.
    """
    member = held.member
    if member is None or not member.limited:
        return None
    row = (
        _members(run, held)
        .filter(
            sequence__gt=held.sequence,
            status=ActionStatus.PENDING,
            available_at__isnull=True,
            closed_by__isnull=True,
        )
        .order_by("sequence")
        .values_list("pk", "queue")
        .first()
    )
    if row is not None:
        steps = ActionRun.objects.using(dialect.alias()).filter(pk=row[0])
        steps.update(available_at=Now(), repairs=SENT, repair_at=Now())
    return row


def _members(run: UUID, held: Outcome) -> QuerySet[ActionRun]:
    return ActionRun.objects.using(dialect.alias()).filter(
        run_id=run, block=held.block, sequence__gte=held.block
    )

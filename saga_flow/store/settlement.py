"""What the end of a run does to the rows under it (docs/statuses.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import Model, TextChoices

from saga_flow.models import ActionRun, FlowSignal, FlowTimer
from saga_flow.states import (
    CLOSED_REASON_OF,
    UNSETTLED_STEP,
    ActionStatus,
    ClosedBy,
    FlowStatus,
    SignalStatus,
    TimerStatus,
)
from saga_flow.store import dialect
from saga_flow.store.dialect import Sql
from saga_flow.store.sql import TABLES, Update, literal, run_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How many rows the end of a run cancelled, and what it leaves in doubt."""

    steps: int
    waits: int
    timers: int
    in_doubt: tuple[int, ...]
    """Ordinals of steps that were running: nobody knows what took effect."""

    def as_data(self) -> Mapping[str, Any]:
        """The counts that are not nought, for the journal."""
        return {name: value for name, value in asdict(self).items() if value}


def closed(status: FlowStatus) -> dict[str, Any]:
    """What the guarded UPDATE sets when a run becomes terminal."""
    now = dialect.now()
    return {
        "status": status.value,
        "closed_reason": CLOSED_REASON_OF[status].value,
        "revision": Sql("revision + 1"),
        "lease_owner": None,
        "wake_at": None,
        "hint_at": None,
        "intent": None,
        "wait_kind": "",
        "wait_name": "",
        "wait_reason": "",
        "closed_at": now,
    }


def settle(run: UUID) -> Settled:
    """
    Cancel what *run* still holds, in the transaction that closed it.

    Settled rows, received signals and undos are left as they are; an undo that has
    not finished stays an open item for an operator.
    """
    left = _steps_left(run)
    in_doubt = tuple(s for s, status in left if status == ActionStatus.RUNNING)
    if left:
        _cancel_steps(run, in_doubt)
    return Settled(
        steps=len(left),
        waits=_cancel(run, FlowSignal, SignalStatus.WAITING, SignalStatus.CANCELLED),
        timers=_cancel(run, FlowTimer, TimerStatus.PENDING, TimerStatus.CANCELLED),
        in_doubt=in_doubt,
    )


def _steps_left(run: UUID) -> list[tuple[int, str]]:
    binding = dialect.Binding()
    text = (
        f"SELECT sequence, status FROM {TABLES[ActionRun]}"
        f" WHERE run_id = %s AND status IN ({literal(UNSETTLED_STEP)})"
    )
    with binding.wrapper.cursor() as cursor:
        cursor.execute(text, binding.bound([run]))
        return list(cursor.fetchall())


def _cancel_steps(run: UUID, in_doubt: tuple[int, ...]) -> None:
    open_steps = ActionRun.objects.using(dialect.alias()).filter(
        run_id=run, status__in=UNSETTLED_STEP
    )
    if in_doubt:
        open_steps.filter(sequence__in=in_doubt).update(in_doubt=True)
    open_steps.update(
        status=ActionStatus.CANCELLED,
        closed_by=ClosedBy.RUN,
        available_at=None,
        worker=None,
        closed_at=dialect.read_now(),
    )


def _cancel(
    run: UUID, model: type[Model], held: TextChoices, cancelled: TextChoices
) -> int:
    return run_statement(
        run,
        Update(
            model=model,
            sets={"status": cancelled.value, "closed_at": dialect.now()},
            where={"run_id": run, "status": held.value},
            must=False,
        ),
    )

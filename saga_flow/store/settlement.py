"""What the end of a run does to the rows under it (docs/statuses.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

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
    alias, now = dialect.alias(), dialect.read_now()
    open_steps = ActionRun.objects.using(alias).filter(
        run_id=run, status__in=UNSETTLED_STEP
    )
    left = list(open_steps.values_list("sequence", "status"))
    in_doubt = tuple(s for s, status in left if status == ActionStatus.RUNNING)
    if in_doubt:
        open_steps.filter(sequence__in=in_doubt).update(in_doubt=True)
    if left:
        open_steps.update(
            status=ActionStatus.CANCELLED,
            closed_by=ClosedBy.RUN,
            available_at=None,
            worker=None,
            closed_at=now,
        )
    waits = (
        FlowSignal.objects.using(alias)
        .filter(run_id=run, status=SignalStatus.WAITING)
        .update(status=SignalStatus.CANCELLED, closed_at=now)
    )
    timers = (
        FlowTimer.objects.using(alias)
        .filter(run_id=run, status=TimerStatus.PENDING)
        .update(status=TimerStatus.CANCELLED, closed_at=now)
    )
    return Settled(steps=len(left), waits=waits, timers=timers, in_doubt=in_doubt)

"""Rows as the engine would have left them, for tests of what only reads."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowEvent,
    FlowRun,
    FlowTag,
    Worker,
)
from saga_flow.records import StepRule
from saga_flow.states import (
    CLOSED_REASON_OF,
    TERMINAL,
    ActionStatus,
    CompensationStatus,
    FlowStatus,
    WorkerStatus,
)
from saga_flow.store.options import dump_rule

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = START + timedelta(days=1)


def run(
    instance_id: str = "order-1",
    *,
    status: FlowStatus = FlowStatus.WAITING,
    tags: dict[str, str] | None = None,
    **columns: Any,
) -> FlowRun:
    """Write one run, consistent with its status."""
    created = columns.setdefault("created_at", START)
    columns.setdefault("sort_at", created)
    columns.setdefault("updated_at", created)
    columns.setdefault("workflow_name", "shop.checkout")
    if status in TERMINAL:
        columns.setdefault("closed_at", created + timedelta(seconds=5))
        columns.setdefault("closed_reason", CLOSED_REASON_OF[status])
    if status is FlowStatus.CANCELLING:
        columns.setdefault("closing_as", FlowStatus.CANCELLED)
    made = FlowRun.objects.create(instance_id=instance_id, status=status, **columns)
    for key, value in (tags or {}).items():
        FlowTag.objects.create(run=made, key=key, value=value)
    return made


def step(of: FlowRun, sequence: int = 0, **columns: Any) -> ActionRun:
    """Write one step; completed if nothing else is said."""
    columns.setdefault("name", "shop.charge_card")
    columns.setdefault("status", ActionStatus.COMPLETED)
    columns.setdefault("attempt", 1)
    columns.setdefault("options", dump_rule(StepRule()))
    columns.setdefault("created_at", of.created_at)
    return ActionRun.objects.create(run=of, sequence=sequence, **columns)


def undo(of: FlowRun, sequence: int = 0, **columns: Any) -> CompensationRun:
    """Write one undo; completed if nothing else is said."""
    columns.setdefault("name", "shop.refund_card")
    columns.setdefault("status", CompensationStatus.COMPLETED)
    columns.setdefault("order", 0)
    columns.setdefault("level", 0)
    columns.setdefault("options", dump_rule(StepRule()))
    columns.setdefault("created_at", of.created_at)
    return CompensationRun.objects.create(run=of, sequence=sequence, **columns)


def line(of: FlowRun, sequence: int, **columns: Any) -> FlowEvent:
    """Write one journal line."""
    columns.setdefault("type", "action.completed")
    columns.setdefault("at", of.created_at)
    return FlowEvent.objects.create(run=of, sequence=sequence, **columns)


def worker(status: WorkerStatus = WorkerStatus.ALIVE) -> Worker:
    """Write one worker."""
    return Worker.objects.create(
        status=status, host="host", pid=1, started_at=START, beat_at=START
    )


def failure(kind: str = "CardDeclined", message: str = "insufficient funds") -> str:
    """An error as the engine stores it."""
    return json.dumps(
        {
            "type": kind,
            "qualified_name": f"shop.errors.{kind}",
            "message": message,
            "traceback": f"Traceback (most recent call last):\n{kind}: {message}\n",
            "causes": [],
            "attempt": 1,
        }
    )

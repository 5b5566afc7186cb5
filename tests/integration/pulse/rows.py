"""Rows as the engine would have left them, made straight through the ORM."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from saga_flow import clock, ids
from saga_flow.models import ActionRun, CompensationRun, FlowRun, Worker
from saga_flow.states import (
    TERMINAL,
    ActionStatus,
    CompensationStatus,
    FlowStatus,
    WorkerStatus,
)


def run(status: FlowStatus = FlowStatus.PENDING, **fields: Any) -> FlowRun:
    """A run that is due since a second ago, unless told otherwise."""
    now = clock.now()
    fields.setdefault("wake_at", now - timedelta(seconds=1))
    if status is FlowStatus.CANCELLING:
        fields.setdefault("closing_as", FlowStatus.CANCELLED)
    if status in TERMINAL:
        fields.setdefault("closed_at", now)
    return FlowRun.objects.create(
        instance_id=fields.pop("instance_id", str(ids.uuid7())),
        workflow_name="zoo.any",
        status=status,
        sort_at=fields.pop("sort_at", now),
        created_at=now,
        updated_at=now,
        **fields,
    )


def step(
    of: FlowRun, status: ActionStatus = ActionStatus.PENDING, **fields: Any
) -> ActionRun:
    """A queued step, due since a second ago while it is pending."""
    now = clock.now()
    if status is ActionStatus.PENDING:
        fields.setdefault("available_at", now - timedelta(seconds=1))
    return ActionRun.objects.create(
        run=of,
        sequence=fields.pop("sequence", 0),
        name="zoo.step",
        status=status,
        queued=fields.pop("queued", True),
        created_at=now,
        **fields,
    )


def undo(of: FlowRun, **fields: Any) -> CompensationRun:
    """An undo that somebody is in the middle of."""
    return CompensationRun.objects.create(
        run=of,
        sequence=fields.pop("sequence", 0),
        order=0,
        level=0,
        name="zoo.undo",
        status=fields.pop("status", CompensationStatus.RUNNING),
        created_at=clock.now(),
        **fields,
    )


def worker(status: WorkerStatus = WorkerStatus.ALIVE) -> UUID:
    """A worker of another process, that has beaten just now."""
    now = clock.now()
    return Worker.objects.create(
        status=status, host="elsewhere", pid=1, started_at=now, beat_at=now
    ).pk

"""A run in any status, and a claim on it, written straight into the rows."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from saga_flow.models import FlowRun, Worker
from saga_flow.records import Claim
from saga_flow.states import TERMINAL, FlowStatus, WorkerStatus
from saga_flow.store import dialect
from tests.support import seeding

HELD = frozenset({FlowStatus.RUNNING, FlowStatus.CANCELLING})
ARGUMENTS = json.dumps({"args": ["p1"], "kwargs": {}})


def run_in(status: FlowStatus, *, held: bool = True, **columns: Any) -> FlowRun:
    """
    A run in *status*, due, with one undoable step and its journal.

    Where that status has a holder, a live worker holds it, or a lost one if not *held*.
    """
    columns.setdefault("workflow_name", "parcel.delivery")
    columns.setdefault("arguments", ARGUMENTS)
    columns.setdefault("lease_epoch", 3)
    columns.setdefault("passes", 0 if status is FlowStatus.RESERVED else 1)
    owes = status not in TERMINAL and status not in {
        FlowStatus.RESERVED,
        FlowStatus.INTERRUPTED,
    }
    columns.setdefault("wake_at", seeding.START if owes else None)
    if status in HELD:
        worker = seeding.worker(WorkerStatus.ALIVE if held else WorkerStatus.LOST)
        columns.setdefault("lease_owner", worker.pk)
    run = seeding.run("p1", status=status, history_seq=1, position=1, **columns)
    seeding.line(run, 1, type="flow.created")
    seeding.step(
        run,
        0,
        name="parcel.reserve",
        result='"shelf-p1"',
        undo_name="parcel.unreserve",
        undo_arguments=ARGUMENTS,
    )
    return run


def claim_on(run: FlowRun, *, owner: UUID | None = None) -> Claim:
    """The claim that a worker would have if it held *run* as the row says."""
    return Claim(
        run=run.pk,
        owner=owner or run.lease_owner or stranger(),
        epoch=run.lease_epoch,
        inbox=run.inbox,
        passes=run.passes,
        position=run.position,
        status=FlowStatus(run.status),
        first=False,
        intent=run.intent,
        now=dialect.read_now(),
        instance_id=run.instance_id,
        tenant=run.tenant,
        run_number=run.run_number,
        workflow_name=run.workflow_name,
        workflow_version=run.workflow_version,
        arguments=run.arguments,
        queue=run.queue,
        closing_as=FlowStatus(run.closing_as) if run.closing_as else None,
        error=run.error,
        drain_until=run.drain_until,
        expires_at=run.expires_at,
    )


def stranger() -> UUID:
    """A live worker that holds nothing."""
    worker: Worker = seeding.worker()
    return worker.pk


def overdue() -> dict[str, Any]:
    """The columns of a run whose deadline has passed."""
    return {"expires_at": dialect.read_now() - timedelta(seconds=1)}

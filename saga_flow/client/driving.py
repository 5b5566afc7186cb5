"""Driving a run in this process, outside any job."""

from __future__ import annotations

from uuid import UUID

from saga_flow import pulse
from saga_flow.engine import drive as engine
from saga_flow.store import history, starts, transaction


def drive(run_id: UUID) -> None:
    """
    Drive the run here until it has ended or waits for something.

    Raises InsideTransaction when the caller has a transaction open.
    """
    transaction.refuse_inside("run_sync() was called")
    before: tuple[object, ...] | None = None
    with pulse.beating():
        while True:
            engine.drive(run_id)
            now = history.progress(run_id)
            if now is None or not now[0] or now == before:
                return
            before = now


def uncommitted(run_id: UUID) -> bool:
    """Whether the caller's own open transaction has made this run."""
    return transaction.in_host_transaction() and starts.made_here(run_id)


def refuse_inside(what: str) -> None:
    """Raise InsideTransaction if the caller has a transaction open."""
    transaction.refuse_inside(what)

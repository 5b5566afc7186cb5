"""Driving a run in this process, outside any job."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from saga_flow import clock, conf, pulse
from saga_flow.engine import drive as engine
from saga_flow.engine import perform, undoing
from saga_flow.store import children, dialect, history, starts, transaction, wake


def drive(run_id: UUID) -> None:
    """
    Drive the run here until it has ended or waits for something.

    Its queued steps, and undos that have jobs of their own, are performed here too,
    unless a worker has taken one first.
    Raises InsideTransaction when the caller has a transaction open.
    """
    transaction.refuse_inside("run_sync() was called")
    before: history.Progress | None = None
    with pulse.beating():
        engine.drive(run_id)
        while (now := history.progress(run_id)) is not None and now != before:
            if now.is_due:
                engine.drive(run_id)
            elif not _do_a_job(run_id, now):
                return
            before = now


def _do_a_job(run_id: UUID, now: history.Progress) -> bool:
    """Do what a job was sent for, if that is all that the run waits for."""
    if now.awaits_step and _perform(run_id):
        return True
    if now.awaits_child and _drive_children(run_id):
        return True
    undo = wake.next_undo(run_id) if now.rolls_back else None
    if undo is None:
        return False
    undoing.perform_undo(undo)
    return True


def _drive_children(run_id: UUID) -> bool:
    """Drive each open child in turn, as this process would drive a run of its own."""
    found = children.open_children(run_id)
    for child in found:
        drive(child)
    return bool(found)


def _perform(run_id: UUID) -> bool:
    """Perform the step that *run_id* waits for, if it is due or will be very soon."""
    found = wake.next_step(run_id)
    if found is None:
        return False
    step, available_at = found
    if available_at is not None:
        remaining = available_at - dialect.read_now()
        if remaining > conf.get().PAUSE_IN_PASS:
            return False
        if remaining > timedelta():
            clock.pause(remaining.total_seconds())
    perform.perform(step)
    return True


def uncommitted(run_id: UUID) -> bool:
    """Whether the caller's own open transaction has made this run."""
    return transaction.in_host_transaction() and starts.made_here(run_id)


def refuse_inside(what: str) -> None:
    """Raise InsideTransaction if the caller has a transaction open."""
    transaction.refuse_inside(what)

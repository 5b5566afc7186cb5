"""
What a django-q2 job runs: always importable, an id each, returning nothing.

A job is a hint. It never raises for what the engine finds: an error that got as far
as here is logged, and the rows, which say what is owed, bring the work back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final
from uuid import UUID

from saga_flow import clock, conf, holdings, sweeps
from saga_flow.engine import drive as passes
from saga_flow.engine import perform as steps
from saga_flow.engine import undoing as undos
from saga_flow.records import Wake, Wanted

logger = logging.getLogger(__name__)

LOOK_ROUND: Final = 5.0
"""Seconds between two sweeps that a process makes by the way, after a job."""

LOOK_ROUND_PAGE: Final = 20

_looked_at = float("-inf")


def drive(run_id: str) -> None:
    """Drive a run, or its rollback, as far as it goes."""
    _do(f"run {run_id}", lambda: passes.drive(UUID(str(run_id))))


def perform(step_id: str) -> None:
    """Perform a queued step, then drive its run on if that is due."""
    _do(f"step {step_id}", lambda: _perform(int(step_id)))


def _perform(step: int) -> None:
    run = steps.perform(step)
    if run is not None:
        passes.drive(run)


def undo(compensation_id: str) -> None:
    """Carry out one undo of a rollback, then drive that on if it is due."""
    _do(f"undo {compensation_id}", lambda: _undo(int(compensation_id)))


def _undo(compensation: int) -> None:
    run = undos.perform_undo(compensation)
    if run is not None:
        passes.drive(run)


def sweep(name: str) -> None:
    """Run one sweep, unless the sweeps are switched off."""
    if conf.get().SWEEPS:
        _do(f"sweep {name}", lambda: sweeps.run_and_record(name))


def execute(wake: Wake) -> None:
    """Do here and now what *wake* asks for."""
    {Wanted.DRIVE: drive, Wanted.PERFORM: perform, Wanted.UNDO: undo}[wake.kind](
        wake.id
    )


def _do(what: str, work: Callable[[], object]) -> None:
    before = holdings.of_this_thread()
    try:
        work()
    except Exception:
        logger.exception("The job for %s ended with an error", what)
    except SystemExit:
        # django-q2's own time limit comes as one: this process is about to end.
        logger.warning("The job for %s was cut off", what)
        raise
    finally:
        # Whatever ended the work, nobody here does it any more.
        for left in holdings.of_this_thread() - before:
            holdings.drop(left.kind, left.id, left.token)
    _look_round()


def _look_round() -> None:
    """Hint at due work by the way: a cluster whose pulse fails still moves."""
    global _looked_at  # noqa: PLW0603 - one clock for the process
    now = clock.monotonic()
    # A clock that a test has bound, and let go, is no older than the real one.
    if not conf.get().SWEEPS or 0 <= now - _looked_at < LOOK_ROUND:
        return
    _looked_at = now
    try:
        sweeps.run("due_work", LOOK_ROUND_PAGE)
    except Exception:
        logger.exception("The sweep after a job failed")

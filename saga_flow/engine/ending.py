"""Ending a run from outside a pass: expiry (row 15) and roll back (row 14)."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from saga_flow.engine import closing, planning, unperformed
from saga_flow.exceptions import RollbackNotPlannable, RunExpired
from saga_flow.records import Snapshot
from saga_flow.states import ACTION_TRANSITIONS, ActionStatus, FlowStatus, sources_of
from saga_flow.store import commands, guards, history, journal, outcomes, rollback
from saga_flow.store.command_rows import Command
from saga_flow.store.dialect import Sql
from saga_flow.store.rollback import Ending
from saga_flow.store.transaction import Refused

logger = logging.getLogger("saga_flow.engine")

EXPIRES: Final = sources_of(ActionStatus.EXPIRED, ACTION_TRANSITIONS)


def expire(run: UUID) -> FlowStatus | None:
    """
    Row 15: enforce the deadline of an overdue run, at most once.

    Returns where that brought it: cancelling, or expired at once. None: it was not
    overdue any more, or its rollback can't be planned here, and it is held off.
    """
    known = history.identity(run)
    if known is None:
        return None
    try:
        first = planning.plan(
            history.steps_to_undo(run),
            instance_id=known.instance_id,
            kept=known.tenancy,
        )
    except RollbackNotPlannable as unplannable:
        logger.warning("run=%s is overdue, but held off: %s", run, unplannable)
        rollback.hold_off(run, str(unplannable))
        return None
    error = RunExpired(
        instance_id=known.instance_id,
        run_id=run,
        status=FlowStatus.EXPIRED.value,
        reason="timed_out",
    )
    overdue = guards.due("expires_at")
    try:
        return rollback.enter(
            Ending(
                run=run,
                queue=known.queue,
                where=(
                    guards.MAY_BE_ENDED,
                    Sql(overdue.text, overdue.parameters),
                ),
                closing_as=FlowStatus.EXPIRED,
                error=closing.error_text(error),
                first=first,
                parent=known.parent,
                plan_one=planning.planner(known.tenancy),
                lines=(journal.line("flow.deadline_passed"),),
            )
        )
    except Refused:
        return None


def expire_step(overdue: tuple[UUID, int]) -> bool:
    """Row 29: end the step of a run at an ordinal as expired; False: it ended."""
    run, sequence = overdue
    step, known = history.step(run, sequence), history.identity(run)
    if known is None or step.status not in EXPIRES:
        return False
    held = unperformed.expired_step(step)
    return outcomes.expire(run, held, planning.planner(known.tenancy))


def compensate(command: Command, run: Snapshot) -> None:
    """
    Row 14: roll the run back, then close it as cancelled.

    Raises RollbackNotPlannable, with nothing changed, and Refused.
    """
    kept = history.identity_at_work(run.run_id).tenancy
    first = planning.plan(
        history.steps_to_undo(run.run_id), instance_id=run.instance_id, kept=kept
    )
    rollback.enter(
        Ending(
            run=run.run_id,
            queue=run.queue,
            where=(
                guards.MAY_BE_ENDED,
                *guards.revision_is(command.request.expected_revision),
            ),
            closing_as=FlowStatus.CANCELLED,
            error=None,
            first=first,
            plan_one=planning.planner(kept),
            through_rollback=True,
            lines=(commands.told(command),),
            sets=commands.intent_of(command),
            command=command,
            instance_id=run.instance_id,
        )
    )

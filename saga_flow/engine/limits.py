"""Ends an attempt that is over a limit and that its own worker did not end."""

from __future__ import annotations

from dataclasses import replace

from saga_flow.engine import perform, planning, verdicts
from saga_flow.engine import undoing as undos
from saga_flow.exceptions import ActionTimedOut
from saga_flow.records import Limit, Outcome, StepRule
from saga_flow.states import ActionStatus
from saga_flow.store import dialect, history, outcomes, undoing
from saga_flow.store.limits import Overrun


def enforce(found: Overrun) -> bool:
    """
    Row 29: fail the attempt, as its body would have; False: it ended by itself.

    Another attempt follows where the policy owes one. Otherwise the step has failed
    and is in doubt: its body may still be at work, and nobody knows with what effect.
    """
    if found.undo is not None:
        return _enforce_undo(found, found.undo)
    step, who = history.step(found.run, found.sequence), history.identity(found.run)
    if who is None or step.status is not ActionStatus.RUNNING:
        return False
    attempt = perform.attempt_of(who, step, queued=step.queued)
    error = ActionTimedOut(_said(found.limit, step.attempt, attempt.rule))
    outcome = verdicts.failed(attempt, error, step.started_at)
    if not attempt.rule.atomic:
        outcome = _in_doubt(outcome)
    plan_one = planning.planner(who.tenancy)
    return outcomes.enforce(found.run, outcome, found.limit, plan_one)


def _enforce_undo(found: Overrun, row: int) -> bool:
    undo, who = history.undo(row), history.identity(found.run)
    if who is None:
        return False
    attempt = undos.attempt_of(who, undo, dialect.read_now)
    error = ActionTimedOut(_said(found.limit, undo.attempt, attempt.rule))
    outcome = verdicts.failed(attempt, error, undo.started_at)
    return undoing.enforce(found.run, undo, outcome)


def _in_doubt(outcome: Outcome) -> Outcome:
    return replace(outcome, in_doubt=outcome.status is ActionStatus.FAILED)


def _said(limit: Limit, attempt: int, rule: StepRule) -> str:
    match limit:
        case Limit.TIMEOUT:
            return perform.ran_over(attempt, rule.timeout)
        case Limit.SILENCE:
            return (
                f"Attempt {attempt} sent no heartbeat for {rule.heartbeat_timeout} "
                "(its heartbeat_timeout)."
            )

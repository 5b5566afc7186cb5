"""Outcomes that no body gave: its worker died, or a deadline came first."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from saga_flow.engine import retry
from saga_flow.records import LostWorker, Outcome, StepFacts, StepRule, Try
from saga_flow.serialization.failures import failure_of
from saga_flow.states import ActionStatus
from saga_flow.store.options import load_rule


class WorkerLost(Exception):
    """The worker died in mid-body; nobody knows whether it took effect."""


class DeadlinePassed(Exception):
    """The time that the step had, all its tries together, is over."""


def is_past(expires_at: datetime | None, moment: datetime) -> bool:
    """Whether no try of a step with this deadline may begin at *moment*."""
    return expires_at is not None and expires_at <= moment


def over(expires_at: datetime | None, cause: BaseException | None) -> DeadlinePassed:
    until = f"{expires_at:%Y-%m-%d %H:%M:%S} UTC" if expires_at else "no time at all"
    error = DeadlinePassed(
        f"it had until {until}"
        + ("." if cause is None else ", and its next try would come after that.")
    )
    error.__cause__ = cause
    return error


def expired_outcome(step: Try, expires_at: datetime | None) -> Outcome:
    """The outcome of a step whose deadline came before another try could begin."""
    failure = failure_of(over(expires_at, None))
    return Outcome(
        sequence=step.sequence,
        name=step.name,
        attempt=step.attempt,
        token=step.token,
        status=ActionStatus.EXPIRED,
        error=failure.to_json(),
        message=failure.message,
        # the body of a worker that died has begun, and nobody knows how far it came
        in_doubt=step.status is ActionStatus.RUNNING,
        before=step.status,
    )


def expired_step(step: StepFacts) -> Outcome:
    """The same of a step as it is recorded, whoever was to try it or is in it."""
    last = Try(
        sequence=step.sequence,
        name=step.name,
        status=step.status,
        attempt=step.attempt,
        lost_attempts=step.lost_attempts,
        token=step.token,
        rule=load_rule(step.options),
    )
    return replace(
        expired_outcome(last, step.expires_at),
        has_undo=bool(step.undo_name),
        queued=step.queued,
        optional=step.optional,
        block=step.block,
        member=load_rule(step.options).member,
    )


def given_up_on(rule: StepRule, lost: int) -> bool:
    """Whether a step whose worker died for the *lost*-th time is not tried again."""
    return rule.lost_worker is LostWorker.FAIL or lost > retry.LOST_BUDGET


def lost_outcome(
    rule: StepRule,
    *,
    sequence: int,
    name: str,
    attempt: int,
    token: int,
    queued: bool = False,
) -> Outcome:
    """
    The outcome of a step that the death of its worker has ended.

    An atomic one has taken no effect, for that would stand with its outcome.
    """
    # the claim that found a queued step's worker dead has counted itself
    died = attempt - 1 if queued else attempt
    failure = failure_of(WorkerLost(f"The worker of attempt {died} died in it."))
    return Outcome(
        sequence=sequence,
        name=name,
        attempt=attempt,
        token=token,
        status=ActionStatus.FAILED,
        error=failure.to_json(),
        message=failure.message,
        in_doubt=not rule.atomic,
        queued=queued,
    )

"""``self.action(...)`` in a pass: replay it, or execute it here (rows 5 and 25)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from saga_flow import clock, structural
from saga_flow.engine import attempts, perform, together, unperformed
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Outdone, Suspended
from saga_flow.exceptions import ActionExpired, ActionFailed
from saga_flow.records import (
    Dispatch,
    Line,
    NewStep,
    Outcome,
    StepCall,
    StepFacts,
    StepRule,
    Try,
    Wait,
)
from saga_flow.serialization import codec
from saga_flow.serialization.failures import Failure
from saga_flow.states import ActionStatus
from saga_flow.store import passes
from saga_flow.store.beats import Beating
from saga_flow.store.options import load_rule

_OWED: Final = frozenset({ActionStatus.PENDING, ActionStatus.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """What every attempt of one step has in common."""

    call: StepCall
    sequence: int
    arguments: str
    options: str
    expires_at: datetime | None


def step(pass_: Pass, call: StepCall) -> Any:
    """
    The step's result, decoded: recorded, or of a body that is executed right here.

    Raises ActionFailed or ActionExpired, the same in every mode and on every pass.
    """
    ordinal, recorded = pass_.take(f"action {call.name!r}", StepFacts)
    if recorded is None:
        return _begin(pass_, ordinal, call)
    check_name(pass_, recorded, call)
    if recorded.status in _OWED:
        return _go_on(pass_, recorded, call)
    return replayed(pass_, recorded, call)


def check_name(pass_: Pass, recorded: StepFacts, call: StepCall) -> None:
    """End the pass as a mismatch if another action is recorded there."""
    if recorded.is_bodiless or recorded.name not in (call.name, *call.aliases):
        raise pass_.mismatch(recorded.sequence, f"action {call.name!r}")


def replayed(pass_: Pass, recorded: StepFacts, call: StepCall) -> Any:
    """
    What a settled step returned, decoded, or its fallback.

    Raises ActionFailed or ActionExpired.
    """
    what = f"result of {recorded.name}"
    match recorded.status:
        case ActionStatus.COMPLETED:
            return pass_.decoded(recorded.result or "null", call.annotation, what)
        case ActionStatus.OPTIONAL_FAILED:
            return pass_.decoded(
                recorded.fallback or "null", call.fallback_annotation, what
            )
        case ActionStatus.FAILED if recorded.optional:
            _give_up(pass_, recorded.sequence, recorded.name)
            return pass_.decoded(
                recorded.fallback or "null", call.fallback_annotation, what
            )
        case ActionStatus.FAILED:
            error = _error(pass_, recorded.sequence, recorded.error)
            raise _failure(recorded.name, recorded.sequence, recorded.attempt, error)
        case ActionStatus.EXPIRED if recorded.optional:
            return pass_.decoded(
                recorded.fallback or "null", call.fallback_annotation, what
            )
        case ActionStatus.EXPIRED:
            error = _error(pass_, recorded.sequence, recorded.error)
            raise _expiry(recorded.name, recorded.sequence, error)
        case _:
            # a step that its run's end has cancelled, under a run that goes on
            raise pass_.mismatch(recorded.sequence, f"action {call.name!r}")


def _error(pass_: Pass, sequence: int, error: str | None) -> str | None:
    return pass_.opened(error, f"error of step {sequence}") if error else None


def _failure(name: str, sequence: int, attempt: int, error: str | None) -> ActionFailed:
    told = Failure.from_json(error, what=f"error of step {sequence}") if error else None
    return ActionFailed(
        name=name,
        sequence=sequence,
        type=told.type if told else "",
        message=told.message if told else "",
        attempt=attempt,
    )


def _expiry(name: str, sequence: int, error: str | None) -> ActionExpired:
    told = Failure.from_json(error, what=f"error of step {sequence}") if error else None
    message = told.message if told else "its deadline passed"
    return ActionExpired(name=name, sequence=sequence, message=message)


def _give_up(pass_: Pass, sequence: int, name: str) -> None:
    pass_.pending.gave_up.append(sequence)
    pass_.pending.lines.append(
        Line(type="action.given_up", step=sequence, data=f'{{"name":"{name}"}}')
    )


def deadline_of(pass_: Pass, call: StepCall) -> datetime | None:
    """When the step of *call*, scheduled now, has to have its outcome."""
    expires_in = call.rule.expires_in
    return None if expires_in is None else pass_.now() + expires_in


def _begin(pass_: Pass, ordinal: int, call: StepCall) -> Any:
    """The frontier: record the step as running, with the outcome in hand."""
    pass_.check_right()
    structural.note_size(call.arguments, what=f"arguments of action {call.name}")
    expires_at = deadline_of(pass_, call)
    if call.rule.dispatch is Dispatch.QUEUE:
        new = NewStep(
            sequence=ordinal,
            call=call,
            status=ActionStatus.PENDING,
            expires_at=expires_at,
        )
        pass_.pending.steps.append(new)
        raise pass_.leave(Suspended(_waits_for(ordinal, call.name)))
    claim = pass_.claim
    new = NewStep(
        sequence=ordinal,
        call=call,
        status=ActionStatus.RUNNING,
        token=claim.epoch,
        expires_at=expires_at,
    )
    pass_.commit(
        lambda gathered: passes.commit_step(claim, gathered, new, ordinal + 1),
        ordinal + 1,
    )
    body = _Body(
        call=call,
        sequence=ordinal,
        arguments=call.arguments,
        options="",
        expires_at=expires_at,
    )
    return _attempts(pass_, body, attempt=1, lost=0)


def _go_on(pass_: Pass, recorded: StepFacts, call: StepCall) -> Any:
    """A step without an outcome: another attempt is due, or will be."""
    if recorded.queued:
        waits = _waits_for(recorded.sequence, recorded.name)
        raise pass_.leave(Suspended(waits))
    body = _Body(
        call=call,
        sequence=recorded.sequence,
        # before the claim: a try that can't be given its arguments would be spent
        arguments=pass_.opened(
            recorded.arguments, f"arguments of step {recorded.sequence}"
        ),
        options=recorded.options,
        expires_at=recorded.expires_at,
    )
    last = Try(
        sequence=recorded.sequence,
        name=recorded.name,
        status=recorded.status,
        attempt=recorded.attempt,
        lost_attempts=recorded.lost_attempts,
        token=recorded.token,
        rule=_rule(body),
    )
    if recorded.status is ActionStatus.RUNNING:
        rule = load_rule(recorded.options)
        if unperformed.given_up_on(rule, recorded.lost_attempts + 1):
            return _lost(pass_, body, last, rule)
    elif recorded.available_at is not None:
        _until(pass_, body, recorded.available_at)
    return _again(pass_, body, last)


def _waits_for(sequence: int, name: str) -> Wait:
    """For the job of a queued step: its outcome makes the run due."""
    return Wait(
        wake_at=None,
        kind="step",
        name=name,
        reason=f"waiting for step {sequence} ({name})",
    )


def _lost(pass_: Pass, body: _Body, last: Try, rule: StepRule) -> Any:
    """The worker died in mid-body, and the step is not to be tried again."""
    pass_.pending.held = unperformed.lost_outcome(
        rule,
        sequence=last.sequence,
        name=last.name,
        attempt=last.attempt,
        token=last.token,
    )
    return _surface(pass_, body, pass_.pending.held)


def _until(pass_: Pass, body: _Body, available_at: datetime) -> None:
    """Sit out a short retry delay here; give the run up for a longer one."""
    remaining = available_at - pass_.now()
    if remaining <= timedelta():
        return
    if not pass_.waits_here(remaining):
        wait = Wait(
            wake_at=available_at,
            kind="retry",
            name=body.call.name,
            reason=(
                f"step {body.sequence} ({body.call.name}) is tried again at "
                f"{available_at:%Y-%m-%d %H:%M:%S} UTC"
            ),
        )
        raise pass_.leave(Suspended(wait))
    # nothing may be in hand while the process merely sleeps
    _record_held(pass_)
    clock.pause(remaining.total_seconds())


def _record_held(pass_: Pass) -> None:
    if pass_.pending.held is not None:
        pass_.commit(
            lambda gathered: passes.commit_step(
                pass_.claim, gathered, None, pass_.position
            )
        )


def _again(pass_: Pass, body: _Body, last: Try) -> Any:
    if unperformed.is_past(body.expires_at, pass_.now()):
        _record_held(pass_)
        pass_.pending.held = unperformed.expired_outcome(last, body.expires_at)
        return _surface(pass_, body, pass_.pending.held)
    lost = last.lost_attempts + (1 if last.status is ActionStatus.RUNNING else 0)
    pass_.commit(
        lambda gathered: passes.reclaim_step(
            pass_.claim, gathered, last, pass_.position
        )
    )
    return _attempts(pass_, body, attempt=last.attempt + 1, lost=lost)


def _attempts(pass_: Pass, body: _Body, *, attempt: int, lost: int) -> Any:
    """Call the body, then again while another attempt is owed and due soon."""
    outcome, leave = perform.run(_attempt(pass_, body, attempt, lost))
    if not outcome.recorded:
        pass_.pending.held = outcome
    if leave is not None:
        # the process is told to go: the driver records the outcome, then passes it on
        pass_.leave(Outdone())
        raise leave
    if outcome.status is not ActionStatus.PENDING:
        return _surface(pass_, body, outcome)
    if outcome.available_at is not None:
        _until(pass_, body, outcome.available_at)
    last = Try(
        sequence=body.sequence,
        name=outcome.name,
        status=ActionStatus.PENDING,
        attempt=attempt,
        lost_attempts=lost,
        token=pass_.claim.epoch,
        rule=_rule(body),
    )
    return _again(pass_, body, last)


def _rule(body: _Body) -> StepRule:
    return load_rule(body.options) if body.options else body.call.rule


def _attempt(pass_: Pass, body: _Body, attempt: int, lost: int) -> attempts.Attempt:
    claim, rule = pass_.claim, _rule(body)
    return attempts.Attempt(
        name=body.call.name,
        sequence=body.sequence,
        arguments=body.arguments,
        rule=rule,
        attempt=attempt,
        lost_attempts=lost,
        token=claim.epoch,
        context=attempts.context_of(claim, body.sequence, attempt),
        now=pass_.now,
        expires_at=body.expires_at,
        has_undo=body.call.undo is not None,
        bond=together.inline(claim) if rule.atomic else None,
        beating=Beating(
            run=claim.run,
            sequence=body.sequence,
            attempt=attempt,
            token=claim.epoch,
            silence=rule.heartbeat_timeout,
        ),
    )


def _surface(pass_: Pass, body: _Body, outcome: Outcome) -> Any:
    """Hand the outcome in hand to ``handle()``, as a replay would."""
    call = body.call
    if outcome.status is ActionStatus.COMPLETED:
        what = f"result of {call.name}"
        return pass_.decoded(outcome.result or "null", call.annotation, what)
    expired = outcome.status is ActionStatus.EXPIRED
    if call.optional:
        if not expired:
            _give_up(pass_, body.sequence, call.name)
        return codec.decode(
            call.fallback, call.fallback_annotation, what=f"fallback of {call.name}"
        )
    error = _error(pass_, body.sequence, outcome.error)
    if expired:
        raise _expiry(outcome.name, body.sequence, error)
    raise _failure(outcome.name, body.sequence, outcome.attempt, error)

"""What became of an attempt whose body was called: errors as data, and what is owed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from random import Random  # noqa: TID251 - spreads retries, decides nothing
from typing import Any, Final

from saga_flow import registry, tenancy
from saga_flow.engine import retry, together
from saga_flow.engine.attempts import Attempt
from saga_flow.engine.unperformed import WorkerLost, is_past, over
from saga_flow.exceptions import CodecRefused, ResultNotSerializable, TenancyFailed
from saga_flow.records import Outcome
from saga_flow.serialization.arguments import decode_arguments
from saga_flow.serialization.bounded import bounded
from saga_flow.serialization.failures import Failure, failure_of
from saga_flow.serialization.markers import unescaped
from saga_flow.serialization.redaction import hider
from saga_flow.serialization.sealing import left_open, seal
from saga_flow.states import ActionStatus

_MESSAGE_BYTES: Final = 512
_CHANCE: Final = Random()  # noqa: S311 - guards nothing


def failed(attempt: Attempt, error: BaseException, started: datetime | None) -> Outcome:
    """The outcome of a try that threw: another one is owed, or the step failed."""
    delay, final = None, False
    if isinstance(error, TenancyFailed):
        # the body was never begun, so whatever its policy says it is not given up
        delay = retry.hold_off(attempt.attempt)
    elif retry.is_retryable(attempt.rule.retry, error):
        tries = attempt.attempt - attempt.lost_attempts
        delay = retry.delay_after(
            attempt.rule.retry, tries, lambda: _CHANCE.uniform(-1, 1)
        )
    else:
        final = True
    again = None if delay is None else attempt.now() + delay
    status = ActionStatus.FAILED if again is None else ActionStatus.PENDING
    if again is not None and is_past(attempt.expires_at, again):
        status, again = ActionStatus.EXPIRED, None
        error = over(attempt.expires_at, error)
    failure = replace(
        failure_of(error, attempt=attempt.attempt, hide=_hider(attempt)),
        non_retryable=final,
    )
    return outcome(
        attempt,
        status,
        error=_sealed(failure),
        message=bounded(f"{failure.type}: {failure.message}", _MESSAGE_BYTES),
        available_at=again,
        started_at=started,
        in_doubt=_is_in_doubt(attempt, error),
    )


def _is_in_doubt(attempt: Attempt, error: BaseException) -> bool:
    """Whether the body that threw *error* may have taken effect to the full."""
    if attempt.bond is not None:
        return isinstance(error, together.TransactionEnded)
    return isinstance(error, ResultNotSerializable | WorkerLost)


def given_back(
    attempt: Attempt, error: together.GivenBack, started: datetime
) -> Outcome:
    """The outcome of a try that was rolled back for no fault of its body's."""
    failure = failure_of(error, attempt=attempt.attempt)
    return outcome(
        attempt,
        ActionStatus.PENDING,
        error=_sealed(failure),
        message=bounded(failure.message, _MESSAGE_BYTES),
        available_at=attempt.now(),
        started_at=started,
    )


def _hider(attempt: Attempt) -> Callable[[str], str]:
    """What takes the values that nobody is shown out of an error's texts."""
    hidden, kept = attempt.rule.redact.arguments, attempt.context.tenancy
    if not hidden:
        return str
    values: list[Any] = []
    # an author's class or a hook may refuse; the stored text is left
    with suppress(Exception), tenancy.entered(kept):
        function = registry.action(attempt.name).function
        args, kwargs = decode_arguments(attempt.arguments, function)
        values += [args[place] for place in hidden if isinstance(place, int)]
        values += [kwargs.get(unescaped(key)) for key in hidden if isinstance(key, str)]
    return hider(attempt.arguments, hidden, values)


def _sealed(failure: Failure) -> str:
    try:
        return seal(failure.to_json())
    except CodecRefused as refused:
        bare = replace(failure, message=str(refused), traceback="", causes=())
        return left_open(bare.to_json())


def outcome(attempt: Attempt, status: ActionStatus, **known: Any) -> Outcome:
    return Outcome(
        sequence=attempt.sequence,
        name=attempt.name,
        attempt=attempt.attempt,
        token=attempt.token,
        status=status,
        has_undo=attempt.has_undo,
        queued=attempt.queued,
        optional=attempt.optional,
        block=attempt.block,
        member=attempt.member,
        **known,
    )

"""One attempt of one body: arguments in, an outcome out; and jobs of queued steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random  # noqa: TID251 - spreads retries, decides nothing
from typing import Any, Final
from uuid import UUID

from saga_flow import conf, holdings, registry, structural, tenancy
from saga_flow.current import StepContext, executing
from saga_flow.engine import planning, recovery, retry, together
from saga_flow.engine.unperformed import (
    WorkerLost,
    given_up_on,
    is_past,
    lost_outcome,
    over,
)
from saga_flow.exceptions import (
    CodecFailed,
    CodecRefused,
    PayloadTooLarge,
    ResultNotSerializable,
    TenancyFailed,
    Unserialisable,
)
from saga_flow.records import (
    Claim,
    Membership,
    Outcome,
    StepFacts,
    StepRule,
)
from saga_flow.serialization import codec
from saga_flow.serialization.arguments import decode_arguments
from saga_flow.serialization.bounded import bounded
from saga_flow.serialization.failures import Failure, failure_of
from saga_flow.serialization.markers import unescaped
from saga_flow.serialization.redaction import hider
from saga_flow.serialization.sealing import left_open, seal
from saga_flow.states import ActionStatus
from saga_flow.store import claims, dialect, history, outcomes, workers
from saga_flow.store.options import load_rule
from saga_flow.store.transaction import (
    end_what_is_left_open,
    in_test_case,
    savepoint_for_body,
)

logger = logging.getLogger("saga_flow.engine")

_MESSAGE_BYTES: Final = 512
_CHANCE: Final = Random()  # noqa: S311 - guards nothing


class TransactionLeftOpen(Exception):
    """A body switched autocommit off and did not commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that is about to be made, of a step or of an undo."""

    name: str
    sequence: int
    arguments: str
    rule: StepRule
    attempt: int
    lost_attempts: int
    token: int
    context: StepContext
    now: Callable[[], datetime]
    expires_at: datetime | None = None
    has_undo: bool = False
    queued: bool = False
    bond: together.Bond | None = None
    """Of an atomic one: what commits its outcome with its body."""
    optional: bool = False
    block: int | None = None
    member: Membership | None = None


def run(attempt: Attempt) -> tuple[Outcome, SystemExit | None]:
    """
    Call the body once and say what became of it.

    The second value is an order to leave, such as a job's timeout: to be raised again
    once the outcome is recorded.
    """
    started = attempt.now()
    try:
        if attempt.bond is not None:
            return together.run(lambda: _made(attempt, started), attempt.bond)
        return _made(attempt, started), None
    except together.GivenBack as error:
        return _given_back(attempt, error, started), error.leave
    except SystemExit as error:
        # plain sys.exit() in a body is its own failure, not the worker's end
        leave = None if type(error) is SystemExit else error
        return failed(attempt, error, started), leave
    except Exception as error:  # noqa: BLE001 - whatever the author's code throws
        return failed(attempt, error, started), None


def _made(attempt: Attempt, started: datetime) -> Outcome:
    """The outcome of a body that returned. Raises whatever it threw."""
    return _outcome(
        attempt,
        ActionStatus.COMPLETED,
        result=_call(attempt),
        started_at=started,
    )


def _call(attempt: Attempt) -> str:
    definition = registry.action(attempt.name)
    # an atomic one has the transaction that its outcome is recorded in
    own = nullcontext() if attempt.bond is not None else _transaction_of_its_own()
    with tenancy.entered(attempt.context.tenancy):
        args, kwargs = decode_arguments(
            attempt.arguments, definition.function, what=definition.name
        )
        with executing(attempt.context), own:
            value = definition.function(*args, **kwargs)
            if definition.is_async:
                value = asyncio.run(value)
        return _stored(value, definition.name, attempt)


@contextmanager
def _transaction_of_its_own() -> Iterator[None]:
    """
    Keep what a body does to its connection away from the engine's commits.

    In a test case a body's database error must not spoil the test's transaction;
    elsewhere a transaction that it left open would swallow every later commit.
    """
    if in_test_case():
        with savepoint_for_body():
            yield
        return
    try:
        yield
    except BaseException:
        end_what_is_left_open()
        raise
    if end_what_is_left_open():
        raise TransactionLeftOpen(
            "The body returned with a transaction open (autocommit switched off), so "
            "what it wrote was rolled back. Commit it, or use transaction.atomic()."
        )


def _stored(value: object, name: str, attempt: Attempt) -> str:
    what, limit = f"result of {name}", conf.get().MAX_PAYLOAD_BYTES
    try:
        # sealed here and not by the store: once the effect has taken place, a result
        # that the codec can't take must not make another worker repeat it
        text = codec.encode(value, what=what, limit=limit)
        return seal(structural.note_size(text, what=what))
    except (Unserialisable, PayloadTooLarge, CodecRefused) as error:
        effect = "stands" if attempt.bond is None else "was rolled back"
        raise ResultNotSerializable(
            f"{error} The step's effect {effect}; it is not tried again."
        ) from error


def failed(attempt: Attempt, error: BaseException, started: datetime) -> Outcome:
    """The outcome of a try that threw: another one is owed, or the step failed."""
    delay = None
    if isinstance(error, TenancyFailed):
        # the body was never begun, so whatever its policy says it is not given up
        delay = retry.hold_off(attempt.attempt)
    elif retry.is_retryable(attempt.rule.retry, error):
        tries = attempt.attempt - attempt.lost_attempts
        delay = retry.delay_after(
            attempt.rule.retry, tries, lambda: _CHANCE.uniform(-1, 1)
        )
    again = None if delay is None else attempt.now() + delay
    status = ActionStatus.FAILED if again is None else ActionStatus.PENDING
    if again is not None and is_past(attempt.expires_at, again):
        status, again = ActionStatus.EXPIRED, None
        error = over(attempt.expires_at, error)
    failure = failure_of(error, attempt=attempt.attempt, hide=_hider(attempt))
    return _outcome(
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


def _given_back(
    attempt: Attempt, error: together.GivenBack, started: datetime
) -> Outcome:
    """The outcome of a try that was rolled back for no fault of its body's."""
    failure = failure_of(error, attempt=attempt.attempt)
    return _outcome(
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


def _outcome(attempt: Attempt, status: ActionStatus, **known: Any) -> Outcome:
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


def context_of(
    run: Claim | history.Identity, sequence: int, attempt: int, *, undo: bool = False
) -> StepContext:
    """What a body sees; an undo's idempotency key differs from its step's."""
    return StepContext(
        run_id=run.run,
        instance_id=run.instance_id,
        sequence=sequence,
        attempt=attempt,
        idempotency_key=f"{run.run}:{sequence}" + (":undo" if undo else ""),
        tenancy=run.tenancy,
        asks=lambda: history.is_unwanted(run.run),
    )


def perform(step_id: int) -> UUID | None:
    """
    The job of a queued step: claim it, run its body, record what became of it.

    Returns the run if it may go on now and nobody was told so: whoever called is to
    drive it. A stale hint changes nothing. Raises only an order to leave.
    """
    try:
        claimed = claims.claim_step(step_id, workers.ensure())
    except CodecFailed as error:
        # it stays pending: the repair of lost jobs sends another hint by and by
        logger.warning("step=%s is left alone: %s", step_id, error)
        return None
    if claimed is None:
        return None
    run_id, step = claimed
    run = history.identity_at_work(run_id)
    with holdings.holding("step", str(step_id), step.token):
        # a worker that serves another queue than the run's hands the run back
        here = step.queue in ("", run.queue)
        plan_one = planning.planner(run.tenancy)
        outcome, leave = _perform(run, step, here=here)
        here = here and leave is None
        goes_on: bool | None = None
        if not outcome.recorded:
            goes_on = recovery.insist(
                lambda: outcomes.record(run_id, outcome, plan_one, here=here),
                lambda: outcomes.is_recorded(run_id, outcome),
                f"run={run_id} step={step.sequence}",
            )
    if leave is not None:
        raise leave
    return run_id if here and goes_on is not False else None


def _perform(
    who: history.Identity, step: StepFacts, *, here: bool
) -> tuple[Outcome, SystemExit | None]:
    rule = load_rule(step.options)
    if step.lost_attempts and given_up_on(rule, step.lost_attempts):
        lost = lost_outcome(
            rule,
            sequence=step.sequence,
            name=step.name,
            attempt=step.attempt,
            token=step.token,
            queued=True,
        )
        return replace(lost, **_place(step, rule)), None
    return run(
        Attempt(
            name=step.name,
            sequence=step.sequence,
            arguments=step.arguments,
            rule=rule,
            attempt=step.attempt,
            lost_attempts=step.lost_attempts,
            token=step.token,
            context=context_of(who, step.sequence, step.attempt),
            now=dialect.read_now,
            expires_at=step.expires_at,
            has_undo=bool(step.undo_name),
            queued=True,
            bond=together.queued(who, step, here=here) if rule.atomic else None,
            **_place(step, rule),
        )
    )


def _place(step: StepFacts, rule: StepRule) -> dict[str, Any]:
    """What the outcome of a block's member says of its block."""
    return {"optional": step.optional, "block": step.block, "member": rule.member}

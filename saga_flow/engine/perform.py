"""One attempt of one body: arguments in, an outcome out; and jobs of queued steps."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from saga_flow import conf, holdings, registry, structural, tenancy
from saga_flow.current import StepContext, executing
from saga_flow.engine import bodies, planning, recovery, together
from saga_flow.engine.attempts import Attempt, context_of
from saga_flow.engine.beats import Heartbeat
from saga_flow.engine.unperformed import (
    given_up_on,
    lost_outcome,
)
from saga_flow.engine.verdicts import failed, given_back, outcome
from saga_flow.exceptions import (
    ActionTimedOut,
    CodecFailed,
    CodecRefused,
    NotInStep,
    PayloadTooLarge,
    ResultNotSerializable,
    Unserialisable,
)
from saga_flow.records import (
    Outcome,
    StepFacts,
    StepRule,
)
from saga_flow.serialization import codec
from saga_flow.serialization.arguments import decode_arguments
from saga_flow.serialization.sealing import seal
from saga_flow.states import ActionStatus
from saga_flow.store import claims, dialect, history, outcomes, workers
from saga_flow.store.beats import Beating
from saga_flow.store.options import load_rule
from saga_flow.store.transaction import (
    drop_connections,
    end_what_is_left_open,
    in_test_case,
    savepoint_for_body,
)

logger = logging.getLogger("saga_flow.engine")


class TransactionLeftOpen(Exception):
    """A body switched autocommit off and did not commit."""


def run(attempt: Attempt) -> tuple[Outcome, SystemExit | None]:
    """
    Call the body once and say what became of it.

    The second value is an order to leave, such as a job's timeout: to be raised again
    once the outcome is recorded.
    """
    started = attempt.now()
    alarm = bodies.Alarm(
        attempt.rule.timeout, ran_over(attempt.attempt, attempt.rule.timeout)
    )
    try:
        if attempt.bond is not None:
            return together.run(lambda: _made(attempt, alarm, started), attempt.bond)
        done = _made(attempt, alarm, started)
    except together.GivenBack as error:
        _let_go(alarm, error.leave)
        return given_back(attempt, error, started), error.leave
    except (SystemExit, Exception) as error:  # noqa: BLE001 - whatever a body throws
        return _threw(attempt, alarm, error, started)
    _let_go(alarm, None)
    return done, None


def _made(attempt: Attempt, alarm: bodies.Alarm, started: datetime) -> Outcome:
    """The outcome of a body that returned. Raises whatever it threw."""
    result = _call(attempt, alarm, started)
    return outcome(attempt, ActionStatus.COMPLETED, result=result, started_at=started)


def _threw(
    attempt: Attempt, alarm: bodies.Alarm, error: BaseException, started: datetime
) -> tuple[Outcome, SystemExit | None]:
    leave = _order_to_leave(error)
    _let_go(alarm, leave)
    if leave is not None:
        error = ActionTimedOut(f"The job of attempt {attempt.attempt} was cut off.")
        error.__cause__ = leave
    return failed(attempt, error, started), leave


def _let_go(alarm: bodies.Alarm, leave: SystemExit | None) -> None:
    """A timer may have struck in the middle of a query: connect anew."""
    if alarm.fired or leave is not None:
        drop_connections()


def ran_over(attempt: int, limit: timedelta | None) -> str:
    """What is said of an attempt that took too long."""
    return f"Attempt {attempt} ran over its limit of {limit}."


def _order_to_leave(thrown: BaseException | None) -> SystemExit | None:
    # plain sys.exit() in a body is its own failure, not the worker's end
    if isinstance(thrown, SystemExit) and type(thrown) is not SystemExit:
        return thrown
    return None


def _call(attempt: Attempt, alarm: bodies.Alarm, started: datetime) -> str:
    definition = registry.action(attempt.name)
    # an atomic one has the transaction that its outcome is recorded in
    own = nullcontext() if attempt.bond is not None else _transaction_of_its_own()
    with tenancy.entered(attempt.context.tenancy):
        args, kwargs = decode_arguments(
            attempt.arguments, definition.function, what=definition.name
        )
        with _alive(attempt, started) as context, executing(context), own, alarm:
            value = bodies.call(
                definition.function, args, kwargs, is_async=definition.is_async
            )
        return _stored(value, definition.name, attempt)


@contextmanager
def _alive(attempt: Attempt, started: datetime) -> Iterator[StepContext]:
    """What the body sees of its attempt: its deadline, and an ear for its beats."""
    context = replace(attempt.context, deadline=_deadline(attempt, started))
    if attempt.bond is not None:
        yield replace(context, beats=_no_heartbeat)
        return
    if attempt.beating is None:
        yield context
        return
    heartbeat = Heartbeat(attempt.beating)
    try:
        yield replace(context, beats=heartbeat)
    finally:
        heartbeat.close()


def _no_heartbeat(_progress: object) -> bool:
    raise NotInStep(
        "heartbeat() was called in the body of an atomic step, whose transaction "
        "would have to wait for it, or it for the transaction. Leave it out, or do "
        "the long part in a step before this one."
    )


def _deadline(attempt: Attempt, started: datetime) -> datetime | None:
    if attempt.deadline is not None or attempt.rule.timeout is None:
        return attempt.deadline
    return started + attempt.rule.timeout


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
    bond = together.queued(who, step, here=here) if rule.atomic else None
    return run(replace(attempt_of(who, step, queued=True), bond=bond))


def attempt_of(who: history.Identity, step: StepFacts, *, queued: bool) -> Attempt:
    """The attempt that a recorded step is in."""
    rule = load_rule(step.options)
    return Attempt(
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
        queued=queued,
        deadline=step.deadline_at,
        beating=Beating(
            run=who.run,
            sequence=step.sequence,
            attempt=step.attempt,
            token=step.token,
            silence=rule.heartbeat_timeout,
        ),
        **_place(step, rule),
    )


def _place(step: StepFacts, rule: StepRule) -> dict[str, Any]:
    """What the outcome of a block's member says of its block."""
    return {"optional": step.optional, "block": step.block, "member": rule.member}

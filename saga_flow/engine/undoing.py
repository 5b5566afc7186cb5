"""One try of one undo: what its driver does by itself, and a job beside others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from saga_flow import holdings, registry
from saga_flow.engine import attempts, perform, recovery, retry, together, unperformed
from saga_flow.exceptions import CodecFailed, UnknownDefinition
from saga_flow.records import Claim, Outcome, UndoFacts
from saga_flow.serialization.sealing import unseal
from saga_flow.store import commands, dialect, history, undoing, workers
from saga_flow.store.options import load_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """How the outcome of one try is recorded."""

    settle: Callable[[Outcome, bool], object]
    """Alone; it is also told whether this process stays."""

    record: Callable[[Outcome], object]
    """In the transaction of an atomic body. Raises Refused."""


def carry_out(
    who: Claim | history.Identity,
    undo: UndoFacts,
    now: Callable[[], datetime],
    recorder: Recorder,
) -> tuple[Outcome, SystemExit | None]:
    """
    Call the body of a try that was begun, and have its outcome recorded.

    The second value is an order to leave, to be raised again.
    """
    attempt = attempt_of(who, undo, now)
    if attempt.rule.atomic:
        attempt = replace(attempt, bond=together.undo(who.run, undo, recorder.record))
    with holdings.holding("undo", str(undo.id), undo.token):
        outcome, leave = _attempt(undo, attempt)
        if not outcome.recorded:
            recovery.insist(
                lambda: recorder.settle(outcome, leave is None),
                lambda: undoing.is_settled(undo, outcome),
                f"run={who.run} undo of step {undo.sequence}",
            )
    return outcome, leave


def attempt_of(
    who: Claim | history.Identity, undo: UndoFacts, now: Callable[[], datetime]
) -> attempts.Attempt:
    """The try that a recorded undo is in."""
    return attempts.Attempt(
        name=undo.name,
        sequence=undo.sequence,
        arguments=undo.arguments,
        rule=load_rule(undo.options),
        attempt=undo.attempt,
        lost_attempts=undo.lost_attempts,
        token=undo.token,
        context=attempts.context_of(who, undo.sequence, undo.attempt, undo=True),
        now=now,
        deadline=undo.deadline_at,
    )


def _attempt(
    undo: UndoFacts, attempt: attempts.Attempt
) -> tuple[Outcome, SystemExit | None]:
    if undo.lost_attempts > retry.LOST_BUDGET:
        lost = unperformed.lost_outcome(
            attempt.rule,
            sequence=undo.sequence,
            name=undo.name,
            attempt=undo.attempt,
            token=undo.token,
        )
        return lost, None
    return perform.run(attempt)


def lacking_here(run: UUID, undo: UndoFacts) -> str:
    """What this process lacks to do *undo*, which the run then says; or nothing."""
    try:
        registry.action(undo.name)
        unseal(undo.arguments, what=f"Arguments of the undo {undo.name!r}")
    except UnknownDefinition as error:
        commands.observe(run, str(error))
        return f"this build has no action {undo.name!r}"
    except CodecFailed as error:
        commands.observe(run, str(error))
        return f"the arguments of {undo.name!r} stay sealed here"
    return ""


def perform_undo(compensation: int) -> UUID | None:
    """
    The job of an undo whose level has several: take it and carry it out.

    Returns the run if its rollback may go on now and nobody was told so: whoever
    called is to drive it. A stale hint changes nothing. Raises only an order to leave.
    """
    found = history.undo_of_run(compensation)
    if found is None or lacking_here(*found):
        return None
    run, undo = found
    started = undoing.take(run, undo, workers.ensure())
    if started is None:
        return None
    who = history.identity_at_work(run)
    goes_on: list[bool] = []

    recorder = Recorder(
        settle=lambda outcome, here: goes_on.append(
            undoing.settle_beside(run, started, outcome, here=here)
        ),
        record=lambda outcome: goes_on.append(
            undoing.record_beside(run, started, outcome, here=True)
        ),
    )
    _, leave = carry_out(who, started, dialect.read_now, recorder)
    if leave is not None:
        raise leave
    return run if any(goes_on) else None

"""An atomic attempt: its body and its outcome are committed together, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from django.db import InterfaceError, OperationalError

from saga_flow.engine import planning, recovery
from saga_flow.records import Claim, Outcome, StepFacts, UndoFacts
from saga_flow.store import joint, outcomes, undoing
from saga_flow.store.history import Identity
from saga_flow.store.joint import TransactionEnded, Undone, Unsure
from saga_flow.store.transaction import ATTEMPTS, Refused, back_off

__all__ = ["Bond", "GivenBack", "TransactionEnded", "inline", "queued", "run", "undo"]


class GivenBack(Exception):
    """Nothing of the attempt stands, for no fault of its body: another one is owed."""

    leave: SystemExit | None = None
    """An order to leave that came while it was committed."""


class OwnRunEnded(Exception):
    """A body moved its own run to where its outcome is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bond:
    """What ties the outcome of one attempt to its body."""

    write: Callable[[Outcome], object]
    """Write the outcome in the body's transaction. Raises Refused."""

    stands: Callable[[Outcome], bool]
    """After a COMMIT of unknown result: whether it took place."""

    is_mine: Callable[[], bool]
    """After a refusal, which is undone by now: whether nobody else was its cause."""


def inline(claim: Claim) -> Bond:
    """Of a step that the pass under *claim* performs."""
    return Bond(
        write=partial(outcomes.record_inline, claim),
        stands=partial(outcomes.stands, claim.run),
        is_mine=partial(outcomes.is_driven, claim),
    )


def queued(who: Identity, step: StepFacts, *, here: bool) -> Bond:
    """Of a step that a job of its own performs; *here* as in row 6."""
    plan_one = planning.planner(who.tenancy)
    return Bond(
        write=partial(outcomes.record_queued, who.run, plan_one, here),
        stands=partial(outcomes.stands, who.run),
        is_mine=partial(outcomes.is_claimed, who.run, step),
    )


def undo(run: UUID, started: UndoFacts, write: Callable[[Outcome], object]) -> Bond:
    """Of an undo: nothing but the loss of its claim refuses it."""
    return Bond(
        write=write,
        stands=partial(undoing.stands, run, started),
        is_mine=lambda: False,
    )


def run(body: Callable[[], Outcome], bond: Bond) -> tuple[Outcome, SystemExit | None]:
    """
    Run *body* and record the outcome that it returns, whole or not at all.

    Where the database undid the transaction it is run again, at most five times, for
    then the body has not taken effect. The second value is an order to leave that came
    with the COMMIT. Raises what the body raised, and GivenBack.
    """
    for number in range(1, ATTEMPTS + 1):
        error: BaseException
        try:
            return _recorded(joint.once(body, bond.write)), None
        except Refused:
            raise _refused(bond) from None
        except Undone as undone:
            error = undone.error
        except Unsure as unsure:
            error = unsure.error
            if _stands(bond, unsure):
                leave = error if isinstance(error, SystemExit) else None
                return _recorded(unsure.outcome), leave
        if number == ATTEMPTS or not _may_pass(error):
            raise error
        back_off(number)
    raise AssertionError("unreachable")


def _recorded(outcome: Outcome) -> Outcome:
    return replace(outcome, recorded=True)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, OperationalError | InterfaceError)


def _stands(bond: Bond, unsure: Unsure[Outcome]) -> bool:
    found = recovery.look_up(lambda: bond.stands(unsure.outcome))
    if found is None:
        lost = GivenBack(f"the result of its commit is unknown: {unsure.error}")
        if isinstance(unsure.error, SystemExit):
            lost.leave = unsure.error
        raise lost from unsure.error
    return found


def _refused(bond: Bond) -> Exception:
    if bond.is_mine():
        return OwnRunEnded(
            "The body's transaction moved its own run to a status in which no outcome "
            "is taken, so it was rolled back. Raise, or ask for the end of the run "
            "from outside an atomic step."
        )
    return GivenBack(
        "its outcome was refused, because the run was ended, paused or taken over "
        "meanwhile; its transaction was rolled back"
    )

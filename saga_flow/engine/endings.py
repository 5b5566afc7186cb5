"""Commit how a pass ended: one answer for each way of leaving ``handle()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from django.db import DatabaseError

from saga_flow import conf
from saga_flow.engine import closing, recovery
from saga_flow.engine.gathering import new_ordinals, without_waits
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import (
    Broken,
    Mismatched,
    Outdone,
    Paused,
    Returned,
    SliceOver,
    Suspended,
    TooLarge,
)
from saga_flow.exceptions import CodecFailed, DefiniteFailure
from saga_flow.records import Claim, Gathered
from saga_flow.states import FlowStatus, Intent
from saga_flow.store import history, passes
from saga_flow.store.transaction import Refused, in_test_case

BY_OPERATOR: Final = "asked for by an operator"

Next: TypeAlias = bool | Claim
"""A claim to go on with under the same lease, or whether a rollback was entered."""


def commit(pass_: Pass, left: BaseException) -> Next:
    """Commit how the pass was left, and say what comes next."""
    end = _ENDS.get(type(left))
    if end is not None:
        return end(pass_, left)
    if isinstance(left, Exception):
        return _guarded(pass_, lambda: closing.fail(pass_, left))
    return _leave(pass_, left)


def _returned(pass_: Pass, left: Any) -> Next:
    return _guarded(pass_, lambda: closing.complete(pass_, left.value))


def _too_large(pass_: Pass, left: Any) -> Next:
    # members of a block may have taken ordinals that nothing records
    pass_.ordinal = pass_.position + new_ordinals(pass_.pending.gathered())
    return _guarded(pass_, lambda: closing.fail(pass_, left.error))


def _slice_over(pass_: Pass, left: Any) -> Next:
    # what was about to begin has taken an ordinal already
    position = pass_.ordinal - left.taken
    gathered = pass_.pending.gathered()
    return _guarded(
        pass_, lambda: passes.give_up_slice(pass_.claim, gathered, position)
    )


def _paused(pass_: Pass, left: Any) -> Next:
    gathered = pass_.pending.gathered()
    interrupt(pass_.claim, gathered, left.reason, pass_.recorded_now)
    return False


def _broken(pass_: Pass, left: Any) -> Next:
    recovery.keep_held(pass_.claim, pass_.pending.gathered())
    recovery.give_back(pass_.claim, left.error)
    return False


def _leave(pass_: Pass, left: BaseException) -> Next:
    """The process is told to go: nothing in hand is lost, then it is passed on."""
    recovery.keep_held(pass_.claim, pass_.pending.gathered())
    recovery.give_back(pass_.claim, RuntimeError(repr(left)))
    raise left


def _guarded(pass_: Pass, write: Callable[[], bool | None]) -> bool | Claim:
    try:
        return bool(write())
    except Refused:
        return _outdone(pass_)
    except DatabaseError as error:
        return _unsure(pass_, error)


def _unsure(pass_: Pass, error: DatabaseError) -> bool:
    """The last commit failed, or its result is unknown: see what stands."""
    if in_test_case():
        raise error
    if not recovery.was_committed(pass_.claim, pass_.passes + 1):
        recovery.keep_held(pass_.claim, pass_.pending.gathered())
        recovery.give_back(pass_.claim, error)
    return False


def _suspend(pass_: Pass, left: Suspended) -> bool | Claim:
    claim, gathered = pass_.claim, pass_.pending.gathered()
    try:
        passes.suspend(claim, gathered, left.wait, pass_.recorded_now)
    except Refused:
        return _reload_or_end(pass_)
    except DatabaseError as error:
        return _unsure(pass_, error)
    return False


def _reload_or_end(pass_: Pass) -> bool | Claim:
    """The suspension was refused: something arrived, or the pass was outdone."""
    claim = pass_.claim
    inbox = history.inbox(claim.run)
    if inbox == claim.inbox:
        return _outdone(pass_)
    kept = without_waits(pass_.pending.gathered())
    position = max(pass_.ordinal - pass_.pending.waits, pass_.position)
    if kept.empty:
        return replace(
            claim,
            inbox=inbox,
            passes=pass_.passes,
            position=position,
            now=pass_.now(),
        )
    try:
        passes.commit_step(claim, kept, None, position)
    except Refused:
        return _outdone(pass_)
    return replace(
        claim, inbox=inbox, passes=pass_.passes + 1, position=position, now=pass_.now()
    )


def _outdone(pass_: Pass) -> bool:
    """
    A commit was refused: record the outcome in hand alone, and start nothing more.

    An interrupt that somebody asked for is honoured with everything in hand.
    """
    claim, gathered = pass_.claim, pass_.pending.gathered()
    standing = history.standing(claim.run)
    if standing is not None and _asks_for_pause(standing, claim):
        kept = without_waits(gathered)
        # the refused commit may have taken an ordinal that is not recorded
        position = pass_.position + new_ordinals(kept)
        interrupt(claim, kept, BY_OPERATOR, position)
        return False
    recovery.keep_held(claim, gathered)
    if standing is not None and _is_mine(standing, claim):
        # only the attempt was settled from outside: the run is nobody else's yet
        recovery.give_back(claim, RuntimeError("its step was settled from outside"))
    return False


def _is_mine(standing: history.Standing, claim: Claim) -> bool:
    return standing.epoch == claim.epoch and standing.status is FlowStatus.RUNNING


def _asks_for_pause(standing: history.Standing, claim: Claim) -> bool:
    return _is_mine(standing, claim) and standing.intent == Intent.INTERRUPT


def interrupt(
    claim: Claim, gathered: Gathered, reason: str, position: int | None
) -> None:
    """Row 9; outdone or broken off, the outcome in hand is recorded alone."""
    try:
        passes.interrupt(claim, gathered, reason, position)
    except Refused:
        recovery.keep_held(claim, gathered)
    except DatabaseError as error:
        if in_test_case():
            raise
        recovery.keep_held(claim, gathered)
        recovery.give_back(claim, error)


def _mismatched(pass_: Pass, error: Exception) -> bool | Claim:
    claim, gathered = pass_.claim, without_waits(pass_.pending.gathered())
    fails = conf.get().HISTORY_MISMATCH == "fail" and not isinstance(error, CodecFailed)
    if fails or isinstance(error, DefiniteFailure):
        return _guarded(pass_, lambda: closing.fail_definitely(claim, gathered, error))
    interrupt(claim, gathered, str(error)[:512], None)
    return False


_ENDS: Final[Mapping[type[BaseException], Callable[[Pass, Any], Next]]] = {
    Returned: _returned,
    Suspended: _suspend,
    SliceOver: _slice_over,
    TooLarge: _too_large,
    Paused: _paused,
    Mismatched: lambda pass_, left: _mismatched(pass_, left.error),
    Outdone: lambda pass_, _left: _outdone(pass_),
    Broken: _broken,
}

"""Claim a run, drive one pass over it, commit how the pass ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError

from saga_flow import clock, conf, holdings, registry
from saga_flow.engine import closing, ending, recovery, rollback
from saga_flow.engine.calls import Calls
from saga_flow.engine.gathering import without_waits
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import (
    Broken,
    Mismatched,
    Outdone,
    Paused,
    SliceOver,
    Suspended,
    Unwind,
)
from saga_flow.exceptions import DefiniteFailure, SagaFlowError, UnknownDefinition
from saga_flow.records import Claim, Facts, Gathered
from saga_flow.serialization.arguments import decode_arguments
from saga_flow.states import FlowStatus, Intent
from saga_flow.store import claims, history, passes, workers
from saga_flow.store.transaction import Refused, in_test_case

logger = logging.getLogger("saga_flow.engine")

_LOADS_PER_SLICE: Final = 20
"""A slice is at least this many times what loading the history took."""


def drive(run: UUID) -> None:
    """
    Drive *run* as far as it goes: a pass, a rollback, or its expiry.

    A stale hint, or a run that is closed, paused or held by a live worker, is left
    alone. Never raises because of a status.
    """
    owner = workers.ensure()
    claim = claims.claim_pass(run, owner)
    if claim is not None:
        _drive_pass(claim)
        return
    standing = history.standing(run)
    if standing is None:
        logger.info("run=%s is gone; its hint is dropped", run)
    elif standing.status is FlowStatus.CANCELLING:
        rollback.drive(run, owner)
    elif standing.overdue and standing.status in FlowStatus.may_start_work():
        if ending.expire(run):
            rollback.drive(run, owner)


def _drive_pass(claim: Claim) -> None:
    rolls_back = False
    with holdings.holding("run", str(claim.run), claim.epoch):
        try:
            rolls_back = _passes(claim)
        except DatabaseError as error:
            if in_test_case():
                raise
            recovery.give_back(claim, error)
    if rolls_back:
        rollback.drive(claim.run, claim.owner)


def _passes(claim: Claim) -> bool:
    """Pass after pass under one lease; whether a rollback was entered at the end."""
    if claim.intent == Intent.INTERRUPT:
        _interrupt(claim, Gathered(), "asked for by an operator", None)
        return False
    new = claim.first and claim.inbox == 0 and claim.position == 0
    while True:
        began = clock.monotonic()
        try:
            facts = Facts() if new else history.load(claim.run)
            pass_ = Pass(claim, facts, slice_ends=_slice_end(began))
        except DefiniteFailure as error:
            closing.fail_definitely(claim, Gathered(), error)
            return False
        unwind, value = _handle(pass_)
        again = _end(pass_, unwind, value)
        if isinstance(again, bool):
            return again
        claim, new = again, False


def _slice_end(began: float) -> float:
    now = clock.monotonic()
    least = _LOADS_PER_SLICE * (now - began)
    return now + max(conf.get().SLICE.total_seconds(), least)


def _handle(pass_: Pass) -> tuple[BaseException | None, Any]:
    """Call ``handle()``; what left it, or None, and what it returned."""
    claim = pass_.claim
    try:
        definition = registry.workflow(claim.workflow_name)
    except UnknownDefinition as error:
        return Paused(f"this build has no such workflow: {error}"), None
    try:
        args, kwargs = _arguments(claim, definition.cls)
    except SagaFlowError as error:
        return Mismatched(DefiniteFailure(str(error))), None
    workflow = None
    try:
        workflow = definition.cls()
        workflow._bind(Calls(pass_))
        value = workflow.handle(*args, **kwargs)
        pass_.still_going()
        pass_.check_end()
    except Unwind as unwind:
        left: BaseException | None = pass_.unwinding or unwind
        value = None
    except SystemExit as error:
        left, value = error, None
    except Exception as error:  # noqa: BLE001 - whatever the author's code throws
        left, value = pass_.unwinding or error, None
    else:
        left = None
    if not isinstance(left, Outdone | Broken | SystemExit):
        closing.summarise(pass_, workflow)
    return left, value


def _arguments(claim: Claim, cls: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if claim.arguments is None:
        raise DefiniteFailure(f"The arguments of run {claim.run} are missing.")
    return decode_arguments(
        claim.arguments, cls.handle, what=claim.workflow_name, skip_self=True
    )


def _end(pass_: Pass, left: BaseException | None, value: Any) -> bool | Claim:
    """
    Commit how the pass ended.

    Returns a claim to go on with under the same lease, or whether a rollback was
    entered.
    """
    claim, gathered = pass_.claim, pass_.pending.gathered()
    match left:
        case None:
            return _guarded(pass_, lambda: closing.complete(pass_, value))
        case Suspended():
            return _suspend(pass_, left)
        case SliceOver():
            # the step that was about to begin has taken an ordinal already
            position = pass_.ordinal - 1
            return _guarded(
                pass_, lambda: passes.give_up_slice(claim, gathered, position)
            )
        case Paused():
            _interrupt(claim, gathered, left.reason, pass_.recorded_now)
            return False
        case Mismatched():
            return _mismatched(pass_, left.error)
        case Outdone():
            return _outdone(pass_)
        case Broken():
            recovery.keep_held(claim, gathered)
            recovery.give_back(claim, left.error)
            return False
        case SystemExit():
            recovery.keep_held(claim, gathered)
            recovery.give_back(claim, RuntimeError(repr(left)))
            raise left
        case Exception():
            return _guarded(pass_, lambda: closing.fail(pass_, left))
        case _:
            recovery.keep_held(claim, gathered)
            raise left


def _guarded(pass_: Pass, write: Callable[[], bool | None]) -> bool | Claim:
    try:
        return bool(write())
    except Refused:
        return _outdone(pass_)
    except DatabaseError as error:
        if in_test_case():
            raise
        if not recovery.was_committed(pass_.claim, pass_.passes + 1):
            recovery.keep_held(pass_.claim, pass_.pending.gathered())
            recovery.give_back(pass_.claim, error)
        return False


def _suspend(pass_: Pass, left: Suspended) -> bool | Claim:
    claim, gathered = pass_.claim, pass_.pending.gathered()

    def write() -> None:
        passes.suspend(claim, gathered, left.wait, pass_.recorded_now)

    try:
        write()
    except Refused:
        return _reload_or_end(pass_)
    except DatabaseError:
        return _guarded(pass_, write)
    return False


def _reload_or_end(pass_: Pass) -> bool | Claim:
    """The suspension was refused: something arrived, or the pass was outdone."""
    claim = pass_.claim
    inbox = history.inbox(claim.run)
    if inbox == claim.inbox:
        return _outdone(pass_)
    kept = without_waits(pass_.pending.gathered())
    waits = len(pass_.pending.markers) + sum(
        not timer.fired for timer in pass_.pending.timers
    )
    position = max(pass_.ordinal - waits, pass_.position)
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
    mine = standing is not None and standing.epoch == claim.epoch
    if mine and standing.status is FlowStatus.RUNNING and standing.intent:
        kept = without_waits(gathered)
        _interrupt(claim, kept, "asked for by an operator", None)
        return False
    recovery.keep_held(claim, gathered)
    return False


def _interrupt(
    claim: Claim, gathered: Gathered, reason: str, position: int | None
) -> None:
    try:
        passes.interrupt(claim, gathered, reason, position)
    except Refused:
        recovery.keep_held(claim, gathered)


def _mismatched(pass_: Pass, error: Exception) -> bool | Claim:
    claim, gathered = pass_.claim, without_waits(pass_.pending.gathered())
    fails = conf.get().HISTORY_MISMATCH == "fail"
    if fails or isinstance(error, DefiniteFailure):
        return _guarded(
            pass_, lambda: closing.fail_definitely(claim, gathered, error)
        )
    _interrupt(claim, gathered, str(error)[:512], None)
    return False



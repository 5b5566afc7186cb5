"""Claim a run, drive one pass over it, commit how the pass ended."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from django.db import DatabaseError

from saga_flow import clock, conf, holdings
from saga_flow.engine import closing, ending, endings, recovery, replay, rollback
from saga_flow.engine.passes import Pass
from saga_flow.exceptions import DefiniteFailure
from saga_flow.records import Claim, Facts, Gathered
from saga_flow.states import FlowStatus, Intent
from saga_flow.store import claims, history, workers
from saga_flow.store.transaction import in_test_case

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
    elif _rolls_back(run, standing):
        rollback.drive(run, owner)


def _rolls_back(run: UUID, standing: history.Standing) -> bool:
    """
    Whether a run that was not claimed is rolling back, or is by its expiry now.

    The status is looked at before the deadline, so that a run expires once.
    """
    if standing.status is FlowStatus.CANCELLING:
        return True
    may_start = standing.status in FlowStatus.may_start_work()
    if not (may_start and standing.overdue):
        return False
    return ending.expire(run) is FlowStatus.CANCELLING


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
        endings.interrupt(claim, Gathered(), endings.BY_OPERATOR, None)
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
        again = endings.commit(pass_, replay.handle(pass_))
        if isinstance(again, bool):
            return again
        claim, new = again, False


def _slice_end(began: float) -> float:
    now = clock.monotonic()
    least = _LOADS_PER_SLICE * (now - began)
    return now + max(conf.get().SLICE.total_seconds(), least)

"""Drives one rollback: drain, then undo level by level, then close."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import DatabaseError

from saga_flow import clock, conf, holdings
from saga_flow.engine import levels, planning, unperformed
from saga_flow.engine.levels import Levels
from saga_flow.engine.undoing import Recorder, carry_out, lacking_here
from saga_flow.records import Claim, Outcome, Pause, StepFacts, UndoFacts
from saga_flow.states import UNFINISHED_UNDO, ActionStatus, CompensationStatus
from saga_flow.store import (
    claims,
    dialect,
    history,
    rollback,
    undoing,
    undos,
    workers,
)
from saga_flow.store.options import load_rule
from saga_flow.store.transaction import ClaimLost, Refused, in_test_case

logger = logging.getLogger("saga_flow.engine")

_ASK_AGAIN: Final = timedelta(seconds=20)
"""When to look again at what a worker that still lives is executing."""

_NO_CODE: Final = timedelta(seconds=60)
"""When to look again for an undo whose code this process does not have."""


def drive(run: UUID, owner: UUID) -> None:
    """
    Take the rollback of *run* if nobody drives it, and drive it to its end.

    Leaves it parked when it has to wait, and to somebody else when it is outdone.
    """
    claim = claims.claim_rollback(run, owner)
    if claim is None:
        return
    with holdings.holding("run", str(run), claim.epoch):
        try:
            _Driver(claim).drive()
        except Refused:
            return
        except DatabaseError as error:
            if in_test_case():
                raise
            logger.warning("run=%s: its rollback was broken off: %s", run, error)
            _give_back(claim)
        except SystemExit:
            _give_back(claim)
            raise


def _give_back(claim: Claim) -> None:
    """Somebody else goes on from what is committed; failing this, the janitor helps."""
    try:
        dialect.connection().close_if_unusable_or_obsolete()
        rollback.give_back(claim)
    except (Refused, DatabaseError):
        logger.warning("run=%s: its rollback could not be given back yet", claim.run)


class _Driver:
    """What the driver of one rollback knows between two undos."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.levels = Levels(())
        self.stale = True
        self._began = clock.monotonic()

    def now(self) -> datetime:
        return self.claim.now + timedelta(seconds=clock.monotonic() - self._began)

    def drive(self) -> None:
        while True:
            self._read()
            todo = self._drain() or self._next()
            if isinstance(todo, UndoFacts):
                todo = self._undo(todo)
            if todo is None:
                if self._close():
                    return
            elif isinstance(todo, Pause) and self._park(todo):
                return

    def _read(self) -> None:
        """Read the inbox, then the plan again if anything has arrived since."""
        inbox = history.inbox(self.claim.run)
        if self.stale or inbox != self.claim.inbox:
            self.claim = replace(self.claim, inbox=inbox)
            self.levels = Levels(history.undos(self.claim.run))
            self.stale = False

    def _drain(self) -> Pause | None:
        """Wait for steps in flight; give up on those whose worker has died."""
        until = self.claim.drain_until
        if until is None:
            return None
        in_flight = history.in_flight(self.claim.run)
        living = [step for step in in_flight if self._lives(step)]
        if not living:
            if in_flight:
                self.stale = True
                self._read()
            self.claim = replace(self.claim, drain_until=None)
            return None
        if self.now() >= until:
            return None
        names = ", ".join(f"{step.sequence} ({step.name})" for step in living)
        return Pause(
            until=until,
            reason=f"rolling back; waiting for step {names} to settle",
        )

    def _lives(self, step: StepFacts) -> bool:
        """Whether somebody still executes *step*; if not, its fate is decided."""
        if step.worker is not None and workers.is_live(step.worker):
            return True
        lost = unperformed.lost_outcome(
            load_rule(step.options),
            sequence=step.sequence,
            name=step.name,
            attempt=step.attempt,
            token=step.token,
        )
        failed = replace(step, status=ActionStatus.FAILED, in_doubt=lost.in_doubt)
        # if its outcome came first, it is in the plan that is read next
        with suppress(ClaimLost):
            undos.give_up_lost(
                self.claim, lost, planning.plan_one(failed, self.claim.tenancy)
            )
        return False

    def _next(self) -> UndoFacts | Pause | None:
        """The undo to do now, what to wait for, or None: nothing is left to do."""
        level = self.levels.current()
        if not level:
            return None
        living = workers.live_among(undo.worker for undo in level if undo.worker)
        if not any(levels.is_due(undo, self.now(), living) for undo in level):
            return self._not_yet(level, living)
        return level[0] if len(level) == 1 else self._jobs(level)

    def _not_yet(
        self, level: Sequence[UndoFacts], living: frozenset[UUID]
    ) -> UndoFacts | Pause:
        """Sit out a short delay here; give the rollback up for a longer one."""
        busy = [undo for undo in level if levels.is_busy(undo, living)]
        until = levels.next_at(level, self.now())
        if busy or until is None:
            again = self.now() + _ASK_AGAIN
            return Pause(
                until=again if until is None else min(until, again),
                reason=f"rolling back; undo of step {_named(busy)} is running",
            )
        remaining = until - self.now()
        if remaining > conf.get().PAUSE_IN_PASS:
            waiting = [undo for undo in level if undo.available_at == until]
            return Pause(
                until=until,
                reason=f"rolling back; undo of step {_named(waiting)} is tried again",
            )
        clock.pause(remaining.total_seconds())
        return level[0] if len(level) == 1 else self._jobs(level)

    def _jobs(self, level: Sequence[UndoFacts]) -> Pause:
        """A level of several: a job for each, and somebody drives on after the last."""
        again = self.now() + _ASK_AGAIN
        until = levels.next_at(level, self.now())
        left = [undo for undo in level if undo.status in UNFINISHED_UNDO]
        return Pause(
            until=again if until is None else min(until, again),
            reason=f"rolling back; undo of step {_named(left)} is under way",
            level=level[0].level,
        )

    def _undo(self, undo: UndoFacts) -> Pause | UndoFacts:
        """One try of *undo*; afterwards the plan is what it was, but for this row."""
        claim = self.claim
        lacking = lacking_here(claim.run, undo)
        if lacking:
            return Pause(until=self.now() + _NO_CODE, reason=f"rolling back; {lacking}")
        try:
            started = self._start(undo)
        except ClaimLost:
            # a job of this undo came first
            self.stale = True
            return undo
        outcome, leave = carry_out(
            claim,
            started,
            self.now,
            Recorder(
                settle=lambda outcome, _: undoing.settle(claim.run, started, outcome),
                record=partial(undoing.record, claim.run, started),
            ),
        )
        if leave is not None:
            raise leave
        # its own outcome is one arrival; any other one means reading the plan again
        self.claim = replace(claim, inbox=claim.inbox + 1)
        self.levels.put(_settled(started, outcome))
        if clock.monotonic() - self._began > conf.get().SLICE.total_seconds():
            return Pause(until=None, reason="rolling back; gave other runs a turn")
        return started

    def _start(self, undo: UndoFacts) -> UndoFacts:
        """Begin one try of *undo*; a commit of unknown result is looked up."""
        try:
            return undoing.start(self.claim, undo)
        except DatabaseError:
            if in_test_case():
                raise
            dialect.connection().close_if_unusable_or_obsolete()
            found = history.undo(undo.id)
            # none but the lease's holder starts one, and this is the next try
            mine = found.worker == self.claim.owner
            if not mine or found.attempt != undo.attempt + 1 or not self._is_mine():
                raise
            return found

    def _park(self, pause: Pause) -> bool:
        try:
            rollback.park(self.claim, pause)
        except Refused:
            return not self._still_mine()
        return True

    def _close(self) -> bool:
        try:
            rollback.close(self.claim)
        except Refused:
            return not self._still_mine()
        return True

    def _still_mine(self) -> bool:
        """Whether it was only the inbox that moved."""
        self.stale = True
        return self._is_mine()

    def _is_mine(self) -> bool:
        claim = self.claim
        return history.is_held(claim.run, claim.owner, claim.epoch)


def _settled(undo: UndoFacts, outcome: Outcome) -> UndoFacts:
    return replace(
        undo,
        status=CompensationStatus(outcome.status.value),
        available_at=outcome.available_at,
        error=outcome.error,
        worker=None,
    )


def _named(undos: Sequence[UndoFacts]) -> str:
    return ", ".join(str(undo.sequence) for undo in undos)

"""Drives one rollback: drain, then undo level by level, then close."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import DatabaseError

from saga_flow import clock, conf, holdings, registry
from saga_flow.engine import perform, planning, recovery, retry, together, unperformed
from saga_flow.exceptions import CodecFailed, UnknownDefinition
from saga_flow.records import Claim, Outcome, StepFacts, UndoFacts, UndoPolicy
from saga_flow.serialization.sealing import unseal
from saga_flow.states import ActionStatus, CompensationStatus
from saga_flow.store import (
    claims,
    commands,
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

_UNSETTLED: Final = frozenset({CompensationStatus.PENDING, CompensationStatus.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Park:
    until: datetime
    reason: str


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
        self.undos: list[UndoFacts] = []
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
            elif isinstance(todo, _Park) and self._park(todo):
                return

    def _read(self) -> None:
        """Read the inbox, then the plan again if anything has arrived since."""
        inbox = history.inbox(self.claim.run)
        if self.stale or inbox != self.claim.inbox:
            self.claim = replace(self.claim, inbox=inbox)
            self.undos = list(history.undos(self.claim.run))
            self.stale = False

    def _drain(self) -> _Park | None:
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
        return _Park(
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

    def _next(self) -> UndoFacts | _Park | None:
        """The undo to do now, what to wait for, or None: nothing is left to do."""
        chosen = next_undo(self.undos)
        if chosen is None:
            return None
        if chosen.status is CompensationStatus.RUNNING:
            if chosen.worker is not None and workers.is_live(chosen.worker):
                return _Park(
                    until=self.now() + _ASK_AGAIN,
                    reason=f"rolling back; undo of step {chosen.sequence} is running",
                )
            return chosen
        if chosen.available_at is None or chosen.available_at <= self.now():
            return chosen
        remaining = chosen.available_at - self.now()
        if remaining <= conf.get().PAUSE_IN_PASS:
            clock.pause(remaining.total_seconds())
            return chosen
        return _Park(
            until=chosen.available_at,
            reason=f"rolling back; undo of step {chosen.sequence} is tried again",
        )

    def _undo(self, undo: UndoFacts) -> _Park | UndoFacts:
        """One try of *undo*; afterwards the plan is what it was, but for this row."""
        lacking = _lacking(undo)
        if lacking is not None:
            reason, error = lacking
            commands.observe(self.claim.run, str(error))
            return _Park(until=self.now() + _NO_CODE, reason=f"rolling back; {reason}")
        started = self._start(undo)
        with holdings.holding("undo", str(undo.id), started.token):
            outcome, leave = _attempt(self.claim, started, self.now)
            if not outcome.recorded:
                recovery.insist(
                    lambda: undoing.settle(self.claim.run, started, outcome),
                    lambda: undoing.is_settled(started, outcome),
                    f"run={self.claim.run} undo of step {started.sequence}",
                )
        if leave is not None:
            raise leave
        # its own outcome is one arrival; any other one means reading the plan again
        self.claim = replace(self.claim, inbox=self.claim.inbox + 1)
        self._replace(started, outcome)
        if self._slice_is_over():
            return _Park(until=self.now(), reason="rolling back")
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

    def _replace(self, undo: UndoFacts, outcome: Outcome) -> None:
        settled = replace(
            undo,
            status=CompensationStatus(outcome.status.value),
            available_at=outcome.available_at,
            error=outcome.error,
            worker=None,
        )
        self.undos = [settled if each.id == undo.id else each for each in self.undos]

    def _slice_is_over(self) -> bool:
        return clock.monotonic() - self._began > conf.get().SLICE.total_seconds()

    def _park(self, park: _Park) -> bool:
        try:
            rollback.park(self.claim, park.until, park.reason)
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


def _lacking(undo: UndoFacts) -> tuple[str, Exception] | None:
    """What this process lacks to do *undo*, and how that was found."""
    try:
        registry.action(undo.name)
        unseal(undo.arguments, what=f"Arguments of the undo {undo.name!r}")
    except UnknownDefinition as error:
        return f"this build has no action {undo.name!r}", error
    except CodecFailed as error:
        return f"the arguments of {undo.name!r} stay sealed here", error
    return None


def next_undo(undos: Sequence[UndoFacts]) -> UndoFacts | None:
    """
    The undo that comes next, in the order of levels. Pure.

    None when all are settled, or when one that failed for good, or could not be
    finished, has the policy to stop.
    """
    for undo in undos:
        if undo.status in _UNSETTLED:
            return undo
        if undo.status is CompensationStatus.FAILED and undo.policy == UndoPolicy.STOP:
            return None
    return None


def _attempt(
    claim: Claim, undo: UndoFacts, now: Callable[[], datetime]
) -> tuple[Outcome, SystemExit | None]:
    rule = load_rule(undo.options)
    attempt = perform.Attempt(
        name=undo.name,
        sequence=undo.sequence,
        arguments=undo.arguments,
        rule=rule,
        attempt=undo.attempt,
        lost_attempts=undo.lost_attempts,
        token=undo.token,
        context=perform.context_of(claim, undo.sequence, undo.attempt, undo=True),
        now=now,
        bond=together.undo(claim.run, undo) if rule.atomic else None,
    )
    if undo.lost_attempts > retry.LOST_BUDGET:
        lost = unperformed.lost_outcome(
            rule,
            sequence=undo.sequence,
            name=undo.name,
            attempt=undo.attempt,
            token=undo.token,
        )
        return lost, None
    return perform.run(attempt)


def undo(compensation_id: int) -> None:
    """The job of one undo: levels of one member are driven with their rollback."""
    run = history.run_of_undo(compensation_id)
    if run is not None:
        drive(run, workers.ensure())

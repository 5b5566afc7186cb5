"""
One pass over one run: replays what is recorded, executes what is not.

The pass hands out ordinals, gathers what it decides and commits it with each step.
``handle()`` runs inside it; whatever ends the pass leaves as an
:class:`~saga_flow.engine.unwinding.Unwind`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from django.db import DatabaseError

from saga_flow import clock, conf, holdings, structural, tenancy
from saga_flow.engine import contract, recovery
from saga_flow.engine.gathering import Gathering
from saga_flow.engine.unwinding import (
    Broken,
    Mismatched,
    Outdone,
    SliceOver,
    TooLarge,
    Unwind,
)
from saga_flow.exceptions import (
    CodecFailed,
    DefiniteFailure,
    LimitExceeded,
    PayloadNotDecodable,
)
from saga_flow.records import Claim, Facts, Gathered, Line, RunInfo
from saga_flow.serialization import codec
from saga_flow.serialization.sealing import unseal
from saga_flow.store.transaction import Refused, in_test_case

R = TypeVar("R", bound=contract.Recorded)


def _reading_error(text: str, error: PayloadNotDecodable) -> Exception:
    try:
        codec.decode(text)
    except CodecFailed:
        return error
    except PayloadNotDecodable:
        return DefiniteFailure(str(error))
    return error


class Pass:
    """What one pass knows and has decided; see the modules that extend it."""

    def __init__(self, claim: Claim, facts: Facts, *, slice_ends: float) -> None:
        self.claim = claim
        self.facts = facts
        self.recorded = contract.by_ordinal(
            facts, run=claim.run, position=claim.position
        )
        self.unread = list(facts.unread)
        self.ordinal = 0
        """The next one to be handed out."""

        self.position = claim.position
        """How many ordinals are committed."""

        self.passes = claim.passes
        """The pass counter as this pass knows it."""

        self.pending = Gathering()
        self.tags: set[str] | None = None
        """Keys of the run's labels, once they have been asked for."""

        self.unwinding: Unwind | None = None
        self.said: str | None = None
        """What ``handle()`` last said about itself."""

        self._slice_ends = slice_ends
        self._began = clock.monotonic()

    def now(self) -> datetime:
        """The database's time, carried on by this process's own clock."""
        return self.claim.now + timedelta(seconds=clock.monotonic() - self._began)

    @property
    def info(self) -> RunInfo:
        """What the workflow may know of its own run."""
        claim = self.claim
        kept = claim.tenancy and self.opened(claim.tenancy, "captured tenancy")
        return RunInfo(
            run_id=claim.run,
            instance_id=claim.instance_id,
            run_number=claim.run_number,
            version=claim.workflow_version,
            history_size=self.ordinal,
            should_continue_as_new=structural.is_near(
                self.ordinal, conf.get().MAX_OPERATIONS
            ),
            tenancy_context=tenancy.context(kept),
        )

    @property
    def replaying(self) -> bool:
        """Whether what comes next has been decided, and written, before."""
        return self.ordinal < len(self.recorded)

    @property
    def recorded_now(self) -> int:
        """How many ordinals are recorded once all that is gathered is committed."""
        return max(self.ordinal, self.position)

    def leave(self, unwind: Unwind) -> Unwind:
        """Note that the pass is over, and return what is to be raised."""
        self.unwinding = unwind
        return unwind

    def still_going(self) -> None:
        """Raise again what has ended the pass; each engine call begins with this."""
        if self.unwinding is not None:
            raise self.unwinding

    def take(self, requested: str, kind: type[R]) -> tuple[int, R | None]:
        """
        Hand out the next ordinal, with what is recorded there if anything is.

        Something of another kind there ends the pass as a mismatch, and one operation
        too many ends the run.
        """
        self.still_going()
        ordinal = self.ordinal
        if ordinal >= len(self.recorded):
            grow(self, "MAX_OPERATIONS", ordinal, ordinal + 1, "The operations")
        self.ordinal += 1
        recorded = self.recorded.get(ordinal)
        if recorded is None:
            return ordinal, None
        if not isinstance(recorded, kind):
            raise self.mismatch(ordinal, requested)
        return ordinal, cast("R", recorded)

    def mismatch(self, ordinal: int, requested: str) -> Unwind:
        """End the pass: the code asks for something else than is recorded."""
        recorded = self.recorded.get(ordinal)
        error = contract.mismatch(self.claim.run, ordinal, recorded, requested)
        return self.leave(Mismatched(error))

    def decoded(self, text: str, annotation: Any, what: str) -> Any:
        """
        A recorded value as the code wants it now.

        Text that is no JSON is broken history; a value that the annotation no longer
        takes is a mismatch, which a deploy can mend.
        """
        try:
            return codec.decode(text, annotation, what=what)
        except PayloadNotDecodable as error:
            raise self.leave(Mismatched(_reading_error(text, error))) from error

    def opened(self, text: str, what: str) -> str:
        """Recorded *text* as JSON; the pass ends where its seal can't be opened."""
        try:
            return unseal(text, what=what)
        except CodecFailed as error:
            raise self.leave(Mismatched(error)) from error

    def check_end(self) -> None:
        """``handle()`` is over: it must have asked for all that is recorded."""
        if self.ordinal < len(self.recorded):
            raise self.mismatch(self.ordinal, "the end of handle()")

    def check_right(self, taken: int = 1) -> None:
        """
        End the pass once its time slice is used up, or its worker was found lost.

        *taken* is how many ordinals were handed out for what has not been begun.

        A worker that was declared lost may still hold a lease that nobody has taken
        over yet; it starts nothing more.
        """
        if not holdings.holds("run", str(self.claim.run), self.claim.epoch):
            raise self.leave(Outdone())
        if clock.monotonic() > self._slice_ends:
            raise self.leave(SliceOver(taken))

    def waits_here(self, remaining: timedelta) -> bool:
        """Whether a wait of *remaining* is short enough to sit out in the pass."""
        return remaining <= conf.get().PAUSE_IN_PASS

    def commit(
        self, write: Callable[[Gathered], None], position: int | None = None
    ) -> None:
        """
        Make one commit with everything gathered so far.

        A refusal or a broken database ends the pass with all of it still in hand;
        a COMMIT of unknown result is looked up first.
        """
        gathered = self.pending.gathered()
        try:
            write(gathered)
        except Refused:
            raise self.leave(Outdone()) from None
        except DatabaseError as error:
            if in_test_case() or not recovery.was_committed(
                self.claim, self.passes + 1
            ):
                raise self.leave(Broken(error)) from error
        self.passes += 1
        self.pending = Gathering()
        if position is not None:
            self.position = position


def grow(pass_: Pass, limit: str, before: int, after: int, what: str) -> None:
    """
    Hold what a run has more of against a structural limit.

    Coming near it leaves a line in the journal; going over it ends the run.
    """
    whose = f"{what} of run {pass_.claim.run}"
    try:
        near = structural.check(limit, before, after, what=whose)
    except LimitExceeded as error:
        raise pass_.leave(TooLarge(error)) from error
    if near:
        told = json.dumps({"limit": limit, "count": after})
        line = Line(type="limit.near", step=pass_.ordinal, data=told)
        pass_.pending.lines.append(line)

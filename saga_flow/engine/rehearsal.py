"""
Replay what is recorded against today's code, and execute and write nothing.

The pass is the engine's own; only what is beyond the recorded history is cut off: an
ordinal that nothing is recorded at, and whatever has come for an open wait since.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NoReturn, TypeVar
from uuid import UUID

from saga_flow import clock
from saga_flow.engine import contract, replay
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Mismatched, Paused, Returned, Suspended, Unwind
from saga_flow.exceptions import HistoryMismatch
from saga_flow.records import (
    Claim,
    Facts,
    SignalFacts,
    StepFacts,
    TimerFacts,
)
from saga_flow.states import ActionStatus, FlowStatus, SignalStatus, TimerStatus

R = TypeVar("R", bound=contract.Recorded)

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_NOBODY: Final = UUID(int=0)
_OPEN_STEP: Final = frozenset(
    {ActionStatus.PENDING, ActionStatus.RUNNING, ActionStatus.CANCELLED}
)
"""A step that was cancelled was so by the end of its run: no code saw an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a replay needs of one run."""

    run: UUID
    instance_id: str
    tenant: str
    run_number: int
    workflow_name: str
    """Whose code it is held against; it need not be the one that recorded it."""

    workflow_version: str
    arguments: str | None
    status: FlowStatus
    facts: Facts


class _Beyond(Unwind):
    """The code goes on where the recorded history ends."""

    def __init__(self, requested: str) -> None:
        self.requested = requested
        super().__init__(requested)


class _Rehearsal(Pass):
    """A pass that ends where it would have to decide something."""

    @property
    def replaying(self) -> bool:
        """Tags and memo are never written."""
        return True

    def take(self, requested: str, kind: type[R]) -> tuple[int, R | None]:
        ordinal, recorded = super().take(requested, kind)
        if recorded is None:
            self.ordinal = ordinal
            raise self.leave(_Beyond(requested))
        return ordinal, recorded

    def commit(self, *_write: object) -> NoReturn:
        """Whatever way led here, nothing is written."""
        raise self.leave(_Beyond("a commit"))


def rehearse(recording: Recording) -> None:
    """
    Replay *recording* to its end.

    Raises HistoryMismatch, with the ordinal, where the code asks for something else
    than is recorded, ends or fails before all of it was asked for, or goes on where
    the run has completed. Raises DefiniteFailure for history that is broken in
    itself, and what an argument or value raises that no longer fits its annotation.
    """
    facts = _at_rest(recording.facts)
    pass_ = _Rehearsal(_claim(recording, facts), facts, slice_ends=float("inf"))
    left = replay.handle(pass_)
    if isinstance(left, SystemExit):
        raise left
    if isinstance(left, Mismatched):
        raise left.error
    recorded = pass_.recorded.get(pass_.ordinal)
    completed = recording.status is FlowStatus.COMPLETED
    if recorded is not None or (completed and not isinstance(left, Returned)):
        raise HistoryMismatch(
            run_id=recording.run,
            sequence=pass_.ordinal,
            recorded=contract.described(recorded) if recorded else "the end",
            requested=_told(left),
        ) from left


def _told(left: BaseException) -> str:
    match left:
        case _Beyond():
            return left.requested
        case Suspended() | Paused():
            return f"a stop ({left})"
        case _:
            return f"an end by {left!r}"


def _at_rest(facts: Facts) -> Facts:
    """The same with nothing due: what has no outcome yet suspends, and no more."""
    return replace(
        facts,
        unread=(),
        steps={at: _step(each) for at, each in facts.steps.items()},
        markers={at: _marker(each) for at, each in facts.markers.items()},
        timers={at: _timer(each) for at, each in facts.timers.items()},
    )


def _step(step: StepFacts) -> StepFacts:
    if step.status not in _OPEN_STEP:
        return step
    return replace(step, status=ActionStatus.PENDING, queued=True, expires_at=None)


def _marker(marker: SignalFacts) -> SignalFacts:
    over = marker.status in {SignalStatus.CONSUMED, SignalStatus.TIMED_OUT}
    return marker if over else replace(marker, timeout_at=None)


def _timer(timer: TimerFacts) -> TimerFacts:
    fired = timer.status is TimerStatus.FIRED
    return timer if fired else replace(timer, fire_at=_NEVER)


def _claim(recording: Recording, facts: Facts) -> Claim:
    """A claim that nobody has made: the pass is held by nothing in the database."""
    shelves: tuple[Sized, ...] = (
        facts.steps,
        facts.markers,
        facts.timers,
        facts.side_effects,
        facts.children,
    )
    return Claim(
        run=recording.run,
        owner=_NOBODY,
        epoch=0,
        inbox=0,
        passes=1,
        position=sum(map(len, shelves)),
        status=FlowStatus.RUNNING,
        first=False,
        intent=None,
        now=clock.now(),
        instance_id=recording.instance_id,
        tenant=recording.tenant,
        run_number=recording.run_number,
        workflow_name=recording.workflow_name,
        workflow_version=recording.workflow_version,
        arguments=recording.arguments,
        queue="",
        closing_as=None,
        error=None,
        drain_until=None,
        expires_at=None,
    )

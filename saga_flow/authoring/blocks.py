"""Members side by side: ``parallel``, ``first``, ``map`` and timers among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar, cast

from saga_flow.authoring import times
from saga_flow.authoring.members import Member, Shared, Step, duration
from saga_flow.authoring.ports import Pass
from saga_flow.exceptions import DefinitionError
from saga_flow.records import BlockCall, Join, MemberCall, StepCall, TimerCall

R = TypeVar("R")

FAIL_FAST: Final = Join.FAIL_FAST
WAIT_ALL: Final = Join.WAIT_ALL


class Block(Member[R], Generic[R]):
    """Members that are performed side by side, not yet begun."""

    def __init__(self, pass_: Pass, call: BlockCall) -> None:
        self._pass = pass_
        self._call = call

    def run(self) -> R:
        """
        Return the members' results in the order written, or the first one's.

        Raises what a member raised that failed the block: ActionFailed,
        ActionExpired or SignalTimedOut.
        """
        return cast(R, self._pass.block(self._call))

    def call(self) -> BlockCall:
        """Return the block as a pass takes it."""
        return self._call

    def _under(self, group: Shared) -> Block[R]:
        return Block(self._pass, _shared(self._call, group))


def _shared(call: BlockCall, group: Shared) -> BlockCall:
    """Fill in what a group says where its members say nothing themselves."""
    members: list[MemberCall] = []
    for member in call.members:
        if isinstance(member, BlockCall):
            members.append(_shared(member, group))
        elif isinstance(member, StepCall) and member.undo is not None:
            undo = group.fill(member.undo)
            members.append(replace(member, undo=undo))
        else:
            members.append(member)
    return replace(call, members=tuple(members))


class Timer(Member[None]):
    """A durable timer as a member of a block."""

    def __init__(self, pass_: Pass, call: TimerCall) -> None:
        self._pass = pass_
        self._call = call

    def run(self) -> None:
        """Sleep."""
        self._pass.sleep(self._call.duration, self._call.until)

    def call(self) -> TimerCall:
        """Return the timer as a pass takes it."""
        return self._call


def timer(pass_: Pass, until: object) -> Timer:
    """Return a timer of this length, or until this moment."""
    if isinstance(until, datetime):
        return Timer(pass_, TimerCall(until=times.aware(until)))
    length: timedelta = duration(until, what="the duration of timer()")
    return Timer(pass_, TimerCall(duration=length))


def parallel(
    pass_: Pass, members: Sequence[object], policy: object, limit: object
) -> Block[Any]:
    """Return a block of *members*. Raises DefinitionError for what is no member."""
    if policy not in (FAIL_FAST, WAIT_ALL):
        raise DefinitionError(
            f"parallel(policy={policy!r}) takes FAIL_FAST or WAIT_ALL."
        )
    if limit is not None:
        _check_limit(members, limit)
    call = BlockCall(
        members=_calls(members, "parallel()"),
        join=cast(Join, policy),
        limit=cast("int | None", limit),
    )
    return Block(pass_, call)


def first(pass_: Pass, members: Sequence[object]) -> Block[Any]:
    """Return a block that the first member to settle decides."""
    if not members:
        raise DefinitionError(
            "first() was given no members, so that nothing could ever decide it."
        )
    return Block(pass_, BlockCall(members=_calls(members, "first()"), join=Join.FIRST))


def _calls(members: Sequence[object], what: str) -> tuple[Any, ...]:
    return tuple(
        _call(member, f"member {number} of {what}")
        for number, member in enumerate(members)
    )


def _call(member: object, what: str) -> Any:
    if not isinstance(member, Member):
        raise DefinitionError(
            f"{what} is {member!r}; it takes what self.action(), self.signal(), "
            "self.timer(), self.parallel() or self.first() returned, without .run()."
        )
    return member.call()


def _check_limit(members: Sequence[object], limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise DefinitionError(
            f"limit={limit!r} is how many steps may be in flight at once; it takes a "
            "whole number from 1 on."
        )
    if not all(isinstance(member, Step) for member in members):
        raise DefinitionError(
            "limit= is for blocks of actions alone: waits and timers take no worker. "
            "Put the actions into a parallel() of their own."
        )

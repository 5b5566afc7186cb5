"""
``self.parallel(...)``, ``self.first(...)`` and ``self.map(...)`` in a pass.

All members take their ordinals up front and are written in one commit, which suspends
the run; jobs of their own perform the steps. Each later pass looks at the members as
they are recorded and decides, by rules that a later replay comes to again: what was
open at the decision is marked, and counts for nothing from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from saga_flow.engine import steps, waits
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Suspended
from saga_flow.exceptions import ActionExpired, ActionFailed, SignalTimedOut
from saga_flow.records import (
    BlockCall,
    Join,
    Line,
    Losers,
    Membership,
    NewStep,
    NewTimer,
    SignalCall,
    SignalFacts,
    StepCall,
    StepFacts,
    TimerCall,
    TimerFacts,
    Wait,
    Wakes,
)
from saga_flow.states import (
    UNSETTLED_STEP,
    ActionStatus,
    ClosedBy,
    SignalStatus,
    TimerStatus,
)

Leafs: TypeAlias = StepCall | SignalCall | TimerCall

_LEAST: Final = {Join.FAIL_FAST: Wakes.FAILURE, Join.WAIT_ALL: Wakes.LAST}
"""Which outcomes a block of nothing but steps has to hear of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """A member that takes an ordinal."""

    ordinal: int
    call: Leafs
    recorded: StepFacts | SignalFacts | TimerFacts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A block among its members."""

    join: Join
    parts: tuple[_Leaf | _Node, ...]


@dataclass(frozen=True, slots=True)
class _Open:
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Settled:
    value: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


_Verdict: TypeAlias = _Open | _Settled | _Failed


def block(pass_: Pass, call: BlockCall) -> Any:
    """
    What the block came to: a list, or for ``first`` its index and value.

    Raises what the member raised that decided it.
    """
    pass_.still_going()
    start = pass_.ordinal
    node = _take(pass_, call)
    leaves = list(_leaves(node))
    if leaves and leaves[0].recorded is None:
        raise pass_.leave(Suspended(_schedule(pass_, call, leaves)))
    _check_shape(pass_, start, leaves)
    judge = _Judge(pass_)
    verdict = judge.judge(node)
    judge.close(start)
    match verdict:
        case _Settled():
            return verdict.value
        case _Failed():
            raise verdict.error
        case _Open():
            raise pass_.leave(Suspended(_wait(call, leaves, verdict)))


def _take(pass_: Pass, call: BlockCall) -> _Node:
    """Hand an ordinal to every member, depth first."""
    parts = tuple(
        _take(pass_, member)
        if isinstance(member, BlockCall)
        else _take_leaf(pass_, member)
        for member in call.members
    )
    return _Node(join=call.join, parts=parts)


def _take_leaf(pass_: Pass, call: Leafs) -> _Leaf:
    recorded: StepFacts | SignalFacts | TimerFacts | None
    match call:
        case StepCall():
            ordinal, recorded = pass_.take(f"action {call.name!r}", StepFacts)
            if recorded is not None:
                steps.check_name(pass_, recorded, call)
        case SignalCall():
            ordinal, recorded = waits.take_signal(pass_, call)
        case TimerCall():
            ordinal, recorded = pass_.take("a timer", TimerFacts)
    return _Leaf(ordinal=ordinal, call=call, recorded=recorded)


def _leaves(part: _Leaf | _Node) -> Iterator[_Leaf]:
    if isinstance(part, _Leaf):
        yield part
        return
    for each in part.parts:
        yield from _leaves(each)


def _check_shape(pass_: Pass, start: int, leaves: list[_Leaf]) -> None:
    """The block is as large as the one that is recorded, and the same one."""
    for leaf in leaves:
        other = isinstance(leaf.recorded, StepFacts) and leaf.recorded.block != start
        if leaf.recorded is None or other:
            requested = f"member {leaf.ordinal - start} of a block of {len(leaves)}"
            raise pass_.mismatch(leaf.ordinal, requested)
    following = pass_.recorded.get(start + len(leaves))
    if leaves and isinstance(following, StepFacts) and following.block == start:
        requested = f"the end of a block of {len(leaves)}"
        raise pass_.mismatch(start + len(leaves), requested)


# ---------------------------------------------------------------- the first time


def _schedule(pass_: Pass, call: BlockCall, leaves: list[_Leaf]) -> Wait:
    """Have every member written, and say what the run waits for."""
    flat = all(isinstance(member, StepCall) for member in call.members)
    member = Membership(
        wakes=_LEAST.get(call.join, Wakes.EACH) if flat else Wakes.EACH,
        limited=call.limit is not None,
    )
    start, times, at_once = leaves[0].ordinal, [], False
    for index, leaf in enumerate(leaves):
        if isinstance(leaf.call, StepCall):
            held_back = call.limit is not None and index >= call.limit
            pass_.pending.steps.append(
                replace(
                    _new_step(leaf.ordinal, leaf.call, member, start),
                    expires_at=steps.deadline_of(pass_, leaf.call),
                    held_back=held_back,
                )
            )
            continue
        due = _new_wait(pass_, leaf.ordinal, leaf.call)
        at_once = at_once or _has_come(pass_, leaf.call, due)
        times.append(due)
    wait = _wait(call, leaves, _Open(_earliest(times)))
    return replace(wait, at_once=at_once)


def _new_step(ordinal: int, call: StepCall, member: Membership, start: int) -> NewStep:
    return NewStep(
        sequence=ordinal,
        call=replace(call, rule=replace(call.rule, member=member)),
        status=ActionStatus.PENDING,
        block=start,
    )


def _new_wait(
    pass_: Pass, ordinal: int, call: SignalCall | TimerCall
) -> datetime | None:
    if isinstance(call, SignalCall):
        return waits.new_marker(pass_, call, ordinal)
    fire_at = call.until
    if fire_at is None:
        fire_at = pass_.now() + (call.duration or timedelta())
    pass_.pending.timers.append(
        NewTimer(sequence=ordinal, fire_at=fire_at, fired=False)
    )
    return fire_at


def _has_come(pass_: Pass, call: SignalCall | TimerCall, due: datetime | None) -> bool:
    if isinstance(call, TimerCall):
        return due is not None and due <= pass_.now()
    return any(delivery.name == call.name for delivery in pass_.unread)


def _wait(call: BlockCall, leaves: list[_Leaf], verdict: _Open) -> Wait:
    open_ = sum(leaf.recorded is None or _is_open(leaf) for leaf in leaves)
    what = "the first" if call.join is Join.FIRST else str(open_)
    return Wait(
        wake_at=verdict.wake_at,
        kind="block",
        name="",
        reason=f"waiting for {what} of {len(leaves)} members of a block",
    )


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((each for each in times if each is not None), default=None)


def _is_open(leaf: _Leaf) -> bool:
    match leaf.recorded:
        case StepFacts() as step:
            return step.closed_by is None and step.status in UNSETTLED_STEP
        case SignalFacts() as marker:
            return marker.status is SignalStatus.WAITING
        case TimerFacts() as timer:
            return timer.status is TimerStatus.PENDING
        case None:
            return False


# ---------------------------------------------------------------- the decision


class _Judge:
    """
    Decides a block by what is recorded, and notes who has lost.

    Members are looked at in the order written, and no further than the decision
    needs: a signal that it does not need is not taken.
    """

    def __init__(self, pass_: Pass) -> None:
        self._pass = pass_
        self._settled: set[int] = set()
        self._losers: dict[int, _Leaf] = {}

    def judge(self, part: _Leaf | _Node) -> _Verdict:
        if isinstance(part, _Leaf):
            verdict = self._leaf(part)
            if not isinstance(verdict, _Open):
                self._settled.add(part.ordinal)
            return verdict
        match part.join:
            case Join.FIRST:
                verdict = self._first(part)
            case Join.FAIL_FAST:
                verdict = self._all(part, fails_fast=True)
            case Join.WAIT_ALL:
                verdict = self._all(part, fails_fast=False)
        if not isinstance(verdict, _Open):
            self._lose(part)
        return verdict

    def _first(self, node: _Node) -> _Verdict:
        times: list[datetime | None] = []
        for index, part in enumerate(node.parts):
            match self.judge(part):
                case _Settled() as settled:
                    return _Settled((index, settled.value))
                case _Failed() as failed:
                    return failed
                case _Open() as still:
                    times.append(still.wake_at)
        return _Open(_earliest(times))

    def _all(self, node: _Node, *, fails_fast: bool) -> _Verdict:
        values: list[Any] = []
        times: list[datetime | None] = []
        first: _Failed | None = None
        for part in node.parts:
            verdict = self.judge(part)
            match verdict:
                case _Settled():
                    values.append(verdict.value)
                case _Open():
                    times.append(verdict.wake_at)
                case _Failed():
                    first = first or verdict
                    if fails_fast:
                        return first
        if times:
            return _Open(_earliest(times))
        return first or _Settled(values)

    def _leaf(self, leaf: _Leaf) -> _Verdict:
        try:
            return self._looked_at(leaf)
        except (ActionFailed, ActionExpired, SignalTimedOut) as error:
            return _Failed(error)

    def _looked_at(self, leaf: _Leaf) -> _Verdict:
        match leaf.call, leaf.recorded:
            case StepCall() as call, StepFacts() as step:
                left = step.closed_by == ClosedBy.BLOCK
                if left or step.status in UNSETTLED_STEP:
                    return _Open()
                return _Settled(steps.replayed(self._pass, step, call))
            case SignalCall() as call, SignalFacts() as marker:
                if marker.status is SignalStatus.CANCELLED:
                    return _Open()
                given = waits.look(self._pass, call, leaf.ordinal, marker)
                if given is None:
                    return _Open(marker.timeout_at)
                return _Settled(given.value)
            case TimerCall(), TimerFacts() as timer:
                return self._timer(timer)
            case _:
                raise AssertionError(leaf)

    def _timer(self, timer: TimerFacts) -> _Verdict:
        if timer.status is TimerStatus.CANCELLED:
            return _Open()
        if timer.status is TimerStatus.PENDING:
            if timer.fire_at > self._pass.now():
                return _Open(timer.fire_at)
            waits.fire(self._pass, timer)
        return _Settled(None)

    def _lose(self, node: _Node) -> None:
        for leaf in _leaves(node):
            if leaf.ordinal not in self._settled and _is_open(leaf):
                self._losers[leaf.ordinal] = leaf

    def close(self, start: int) -> None:
        """Have the losers marked by the next commit, whichever that is."""
        if not self._losers:
            return
        found: list[Any] = [leaf.recorded for leaf in self._losers.values()]
        self._pass.pending.losers.append(
            Losers(
                steps=tuple(f.sequence for f in found if isinstance(f, StepFacts)),
                markers=tuple(f.id for f in found if isinstance(f, SignalFacts)),
                timers=tuple(f.id for f in found if isinstance(f, TimerFacts)),
            )
        )
        self._pass.pending.lines.append(
            Line(type="block.decided", step=start, data=f'{{"closed":{len(found)}}}')
        )

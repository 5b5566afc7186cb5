"""Driving runs in the test's own process, as far as they go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, ParamSpec, TypeVar, overload
from uuid import UUID

from saga_flow import client, clock, queries
from saga_flow.authoring import flows
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.signals import Signal
from saga_flow.authoring.start import Handles, Start
from saga_flow.exceptions import RunNotFound
from saga_flow.queries import FlowFilter
from saga_flow.records import Snapshot, Target
from saga_flow.states import MAY_START_WORK, ActionStatus, FlowStatus
from saga_flow.testing.time import move_to, standing_still

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_DRIVABLE: Final = MAY_START_WORK | {FlowStatus.CANCELLING}

_NOT_FOR_A_CLOCK: Final = frozenset({"signal", "resume", "hold", "child"})
"""What a run waits for that time alone does not bring."""

_FOR_STEPS: Final = frozenset({"step", "block"})
"""What a run waits for that its queued steps bring."""


def run_workflow(
    flow: type[Handles[P, R]] | Start[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> Handle[R]:
    """
    Start a workflow, drive it until it has ended or waits, and return its handle.

    *flow* is the class or ``W.using(…)``. Sleeps and retry delays take no time: the
    clock is moved to when each is over. A wait for a signal or a person is left
    waiting, also one with a timeout. Raises what ``run_sync()`` raises.
    """
    start = flow if isinstance(flow, Start) else flows.create(flow)
    with standing_still():
        handle = start.run_sync(*args, **kwargs)
        _skip(handle.run_id)
        return handle.refresh()


def drain(*, skip_time: bool = False) -> int:
    """
    Drive every run that has work due, and all that comes of it.

    Returns how many times it took up a run. Due is what ``start()`` and commands leave
    pending inside a test. With *skip_time* sleeps and retry delays are skipped too, as
    :func:`run_workflow` does. Raises InsideTransaction when the test has a transaction
    of its own open.
    """
    client.refuse_inside("drain()")
    count = 0
    with standing_still():
        stuck: set[tuple[UUID, int]] = set()
        while (run := _next(stuck, skip_time=skip_time)) is not None:
            count += 1
            stuck.add((run.run_id, run.history_seq))
            due = _due_at(run)
            if due is not None:
                move_to(due)
            client.drive(run.run_id)
    return count


@overload
def send_signal(
    target: Handle[Any] | str, signal: Signal[T], payload: T, /
) -> Handle[Any]: ...
@overload
def send_signal(
    target: Handle[Any] | str, signal: str, payload: object = None, /
) -> Handle[Any]: ...
def send_signal(
    target: Handle[Any] | str, signal: Any, payload: object = None, /
) -> Handle[Any]:
    """
    Deliver a signal, then drive the run on as :func:`run_workflow` does.

    *target* is a handle or an instance id. After ``start()`` the delivery comes before
    the first pass; from inside a body, such as a fake's ``side_effect``, it comes
    during one, which goes on by itself. Raises what ``handle.signal()`` raises, and
    InsideTransaction when the test has a transaction of its own open.
    """
    handle = flows.load(target) if isinstance(target, str) else target
    client.refuse_inside("send_signal()")
    with standing_still():
        handle.signal(signal, payload)
        client.drive(handle.run_id)
        _skip(handle.run_id)
        return handle.refresh()


def _skip(run_id: UUID) -> None:
    """Move the clock on to each time that the run waits for, and drive it on."""
    before = -1
    while (run := _read(run_id)) is not None and run.history_seq != before:
        before = run.history_seq
        due = _due_at(run)
        if due is None or not _waits_for_a_clock(run):
            return
        move_to(due)
        client.drive(run_id)


def _read(run_id: UUID) -> Snapshot | None:
    try:
        run = queries.snapshot(Target(run_id=run_id))
    except RunNotFound:
        return None
    return run if run.status in _DRIVABLE else None


def _next(stuck: set[tuple[UUID, int]], *, skip_time: bool) -> Snapshot | None:
    """
    The run to drive now: the one that is due first, or would be if time passed.

    What is in *stuck* has been driven since its last journal line, to no avail.
    """
    now = clock.now()
    waiting = [
        (due, run.created_at, run)
        for due, run in _scheduled()
        if (run.run_id, run.history_seq) not in stuck
        and (due <= now or (skip_time and _waits_for_a_clock(run)))
    ]
    return min(waiting, key=lambda each: each[:2])[2] if waiting else None


def _scheduled() -> Iterator[tuple[datetime, Snapshot]]:
    for run in queries.runs.iterate(FlowFilter(status=frozenset(_DRIVABLE))):
        due = _due_at(run)
        if due is not None:
            yield due, run


def _due_at(run: Snapshot) -> datetime | None:
    """When there is something to do for the run: its work, or its deadline's."""
    times = [run.wake_at, _step_due_at(run)]
    if run.status in MAY_START_WORK:
        times.append(run.expires_at)
    return min((each for each in times if each is not None), default=None)


def _waits_for_a_clock(run: Snapshot) -> bool:
    """Whether time alone brings what the run waits for."""
    if run.wait_kind in _FOR_STEPS:
        return _due_at(run) is not None
    return run.wait_kind not in _NOT_FOR_A_CLOCK


def _step_due_at(run: Snapshot) -> datetime | None:
    """When one of the queued steps that the run waits for is to be tried."""
    if run.wait_kind not in _FOR_STEPS or run.status not in MAY_START_WORK:
        return None
    owed = (s for s in queries.steps(run.run_id) if s.status is ActionStatus.PENDING)
    times = (step.available_at for step in owed if step.queued)
    return min((each for each in times if each is not None), default=None)

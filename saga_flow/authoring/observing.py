"""Waiting for the end of a run, and reading what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import sync_to_async

from saga_flow import clock, registry
from saga_flow.authoring import ports
from saga_flow.authoring.members import duration
from saga_flow.exceptions import (
    DefiniteFailure,
    DefinitionError,
    ObservationTimeout,
    RunCancelled,
    RunContinued,
    RunEnded,
    RunExpired,
    RunFailed,
    RunNotCommitted,
    RunTerminated,
    UnknownDefinition,
)
from saga_flow.records import Snapshot
from saga_flow.serialization import decode
from saga_flow.states import ClosedReason, FlowStatus

if TYPE_CHECKING:
    from saga_flow.authoring.handle import Handle

_FIRST_POLL: Final = 0.02
_SLOWER: Final = 1.5
_SLOWEST_POLL: Final = 1.0
_ENDINGS: Final[dict[FlowStatus, type[RunEnded]]] = {
    FlowStatus.FAILED: RunFailed,
    FlowStatus.CANCELLED: RunCancelled,
    FlowStatus.TERMINATED: RunTerminated,
    FlowStatus.EXPIRED: RunExpired,
}


def wait(
    handle: Handle[Any], timeout: timedelta | None, poll: timedelta | None
) -> None:
    """Refresh *handle* until its run is closed (docs/authoring.md)."""
    pauses = _pauses(timeout, poll)
    while not _closed(handle):
        clock.pause(_next(pauses, handle))


async def await_(
    handle: Handle[Any], timeout: timedelta | None, poll: timedelta | None
) -> None:
    """Do what :func:`wait` does; between two looks no thread is held."""
    pauses = _pauses(timeout, poll)
    while not await sync_to_async(_closed, thread_sensitive=True)(handle):
        await clock.apause(_next(pauses, handle))


def _closed(handle: Handle[Any]) -> bool:
    if handle.refresh().is_terminal:
        return True
    _refuse_uncommitted(handle)
    return False


def _pauses(timeout: timedelta | None, poll: timedelta | None) -> Iterator[float]:
    """Return how long to pause after each look, until the time is up."""
    pause = _FIRST_POLL if poll is None else _seconds(poll)
    end = math.inf if timeout is None else _deadline(timeout)
    return _paces(pause, _SLOWER if poll is None else 1.0, end)


def _paces(pause: float, slower: float, end: float) -> Iterator[float]:
    slowest = max(pause, _SLOWEST_POLL)
    while (now := clock.monotonic()) < end:
        yield min(pause, end - now)
        pause = min(pause * slower, slowest)


def _next(pauses: Iterator[float], handle: Handle[Any]) -> float:
    for pause in pauses:
        return pause
    raise ObservationTimeout(
        instance_id=handle.instance_id,
        run_id=handle.run_id,
        status=handle.status.value,
    )


def value(snapshot: Snapshot) -> Any:
    """Return the value of a run that is closed, or raise what became of it."""
    if snapshot.closed_reason == ClosedReason.CONTINUED:
        raise RunContinued(run_id=snapshot.run_id, successor=snapshot.successor)
    if snapshot.status is not FlowStatus.COMPLETED:
        raise _ENDINGS[snapshot.status](
            instance_id=snapshot.instance_id,
            run_id=snapshot.run_id,
            status=snapshot.status.value,
            reason=snapshot.reason,
            error=None if snapshot.error is None else dict(snapshot.error),
        )
    if snapshot.result is None:
        raise DefiniteFailure(
            f"Run {snapshot.run_id} is completed, but no result is stored with it."
        )
    what = f"the result of run {snapshot.run_id}"
    return decode(snapshot.result, _annotation(snapshot.workflow_name), what=what)


def _annotation(workflow: str) -> Any:
    try:
        return registry.workflow(workflow).result_annotation
    except UnknownDefinition:
        # Another project's run, or code that is gone: its value is still JSON.
        return Any


def _deadline(timeout: timedelta) -> float:
    return clock.monotonic() + duration(timeout, what="timeout").total_seconds()


def _seconds(poll: timedelta) -> float:
    seconds = duration(poll, what="poll").total_seconds()
    if seconds == 0:
        raise DefinitionError("poll is 0; it is the pause between two looks.")
    return seconds


def _refuse_uncommitted(handle: Handle[Any]) -> None:
    if ports.client().uncommitted(handle.run_id):
        raise RunNotCommitted(
            f"Run {handle.run_id} was started by the transaction that is still open "
            "here, so no worker can see it, and waiting would never end. Wait after "
            "the transaction."
        )

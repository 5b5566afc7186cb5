"""
Every status the engine writes, and the only moves between them.

Pure data: no I/O, no clock, no settings. The guard in each UPDATE, the terminal
sets, the buttons, the answers to commands and the table in docs/statuses.md are
all derived from the tables here; no set of statuses is listed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

_C = TypeVar("_C", bound=TextChoices)


class FlowStatus(TextChoices):
    """The status of a run (docs/statuses.md, "The run")."""

    RESERVED = "reserved", pgettext_lazy("flow", "Reserved")
    """An instance id is held; no start has been accepted yet."""

    PENDING = "pending", pgettext_lazy("flow", "Pending")
    """Start accepted, not yet driven."""

    RUNNING = "running", pgettext_lazy("flow", "Running")
    """A worker holds the run's lease and a pass is in progress."""

    WAITING = "waiting", pgettext_lazy("flow", "Waiting")
    """Suspended on something durable."""

    INTERRUPTED = "interrupted", pgettext_lazy("flow", "Interrupted")
    """Durably paused; needs an explicit resume."""

    CANCELLING = "cancelling", pgettext_lazy("flow", "Cancelling")
    """Rolling back; its compensations are still running."""

    COMPLETED = "completed", pgettext_lazy("flow", "Completed")
    """``handle()`` returned, or the run continued as a new one."""

    FAILED = "failed", pgettext_lazy("flow", "Failed")
    """A business exception ended it, or a definite failure."""

    CANCELLED = "cancelled", pgettext_lazy("flow", "Cancelled")
    """No longer wanted."""

    TERMINATED = "terminated", pgettext_lazy("flow", "Terminated")
    """Force-closed by an operator; nothing was undone."""

    EXPIRED = "expired", pgettext_lazy("flow", "Expired")
    """Its own deadline passed and was enforced."""

    @classmethod
    def terminal(cls) -> frozenset[FlowStatus]:
        """Statuses that a run never leaves."""
        return TERMINAL

    @classmethod
    def may_start_work(cls) -> frozenset[FlowStatus]:
        """Statuses under which a pass may be entered and a step may start."""
        return MAY_START_WORK

    @classmethod
    def signalable(cls) -> frozenset[FlowStatus]:
        """Statuses that take a signal and are woken by it."""
        return SIGNALABLE


class ActionStatus(TextChoices):
    """The status of one step."""

    PENDING = "pending", pgettext_lazy("step", "Pending")
    """Scheduled, or between two attempts."""

    RUNNING = "running", pgettext_lazy("step", "Running")
    """Claimed by a worker."""

    COMPLETED = "completed", pgettext_lazy("step", "Completed")
    FAILED = "failed", pgettext_lazy("step", "Failed")
    """Threw and has no attempt left."""

    AWAITING_RETRY = "awaiting_retry", pgettext_lazy("step", "Awaiting retry")
    """Parked until a named signal asks for another cycle."""

    OPTIONAL_FAILED = "optional_failed", pgettext_lazy("step", "Given up")
    """An optional step gave up; its fallback was returned."""

    EXPIRED = "expired", pgettext_lazy("step", "Expired")
    """Its own deadline was enforced."""

    CANCELLED = "cancelled", pgettext_lazy("step", "Cancelled")
    """The run, or its block, ended under it."""


class SignalStatus(TextChoices):
    """The status of one wait-marker or one delivery."""

    WAITING = "waiting", pgettext_lazy("signal", "Waiting")
    """An open wait-marker at an ordinal."""

    RECEIVED = "received", pgettext_lazy("signal", "Received")
    """Delivered, not yet taken."""

    CONSUMED = "consumed", pgettext_lazy("signal", "Consumed")
    TIMED_OUT = "timed_out", pgettext_lazy("signal", "Timed out")
    CANCELLED = "cancelled", pgettext_lazy("signal", "Cancelled")
    """The run ended while the wait was open."""


class TimerStatus(TextChoices):
    """The status of one durable timer."""

    PENDING = "pending", pgettext_lazy("timer", "Pending")
    FIRED = "fired", pgettext_lazy("timer", "Fired")
    CANCELLED = "cancelled", pgettext_lazy("timer", "Cancelled")


class ChildStatus(TextChoices):
    """The status of the link between a parent and a child run."""

    PENDING = "pending", pgettext_lazy("child", "Pending")
    RUNNING = "running", pgettext_lazy("child", "Running")
    COMPLETED = "completed", pgettext_lazy("child", "Completed")
    FAILED = "failed", pgettext_lazy("child", "Failed")
    CANCELLED = "cancelled", pgettext_lazy("child", "Cancelled")


class CompensationStatus(TextChoices):
    """The status of one undo of a rollback."""

    PENDING = "pending", pgettext_lazy("compensation", "Pending")
    RUNNING = "running", pgettext_lazy("compensation", "Running")
    COMPLETED = "completed", pgettext_lazy("compensation", "Completed")
    FAILED = "failed", pgettext_lazy("compensation", "Failed")


class CompensationState(TextChoices):
    """How far a run has been undone, shown beside its status."""

    NONE = "none", pgettext_lazy("rollback", "Nothing undone")
    PENDING = "pending", pgettext_lazy("rollback", "Undo pending")
    RUNNING = "running", pgettext_lazy("rollback", "Undoing")
    COMPLETED = "completed", pgettext_lazy("rollback", "Fully undone")
    FAILED = "failed", pgettext_lazy("rollback", "Not fully undone")


class CommandStatus(TextChoices):
    """Whether a request to the engine was accepted."""

    ACCEPTED = "accepted", pgettext_lazy("command", "Accepted")
    REJECTED = "rejected", pgettext_lazy("command", "Rejected")


class WorkerStatus(TextChoices):
    """The status of one worker incarnation."""

    ALIVE = "alive", pgettext_lazy("worker", "Alive")
    DRAINING = "draining", pgettext_lazy("worker", "Draining")
    LOST = "lost", pgettext_lazy("worker", "Lost")
    GONE = "gone", pgettext_lazy("worker", "Gone")


class ClosedReason(TextChoices):
    """Why a run is closed; empty while it is open."""

    COMPLETED = "completed", pgettext_lazy("closed", "Completed")
    CONTINUED = "continued", pgettext_lazy("closed", "Continued as new")
    FAILED = "failed", pgettext_lazy("closed", "Failed")
    CANCELLED = "cancelled", pgettext_lazy("closed", "Cancelled")
    TERMINATED = "terminated", pgettext_lazy("closed", "Terminated")
    TIMED_OUT = "timed_out", pgettext_lazy("closed", "Timed out")


class ClosedBy(TextChoices):
    """What cancelled a step."""

    RUN = "run", pgettext_lazy("closed by", "Its run ended")
    BLOCK = "block", pgettext_lazy("closed by", "Its block was decided")


class Intent(TextChoices):
    """What the holder of a run is asked to do at its next commit."""

    INTERRUPT = "interrupt", pgettext_lazy("intent", "Interrupt")


class SideEffectKind(TextChoices):
    """What kind of value was recorded at an ordinal."""

    SIDE_EFFECT = "side_effect", pgettext_lazy("side effect", "Side effect")
    NOW = "now", pgettext_lazy("side effect", "Time")
    UUID4 = "uuid4", pgettext_lazy("side effect", "UUID")
    RANDOM = "random", pgettext_lazy("side effect", "Random number")
    INTERRUPT = "interrupt", pgettext_lazy("side effect", "Interrupt")
    COMPENSATE = "compensate", pgettext_lazy("side effect", "Compensation")


_F = FlowStatus
_A = ActionStatus
_S = SignalStatus
_T = TimerStatus
_CH = ChildStatus
_CO = CompensationStatus
_W = WorkerStatus

_CLOSING: Final = (_F.FAILED, _F.CANCELLED, _F.TERMINATED, _F.EXPIRED)


def _table(rows: Mapping[_C, tuple[_C, ...]]) -> Mapping[_C, frozenset[_C]]:
    return MappingProxyType({source: frozenset(to) for source, to in rows.items()})


FLOW_TRANSITIONS: Final = _table(
    {
        _F.RESERVED: (_F.PENDING,),
        _F.PENDING: (_F.RUNNING, _F.CANCELLING, *_CLOSING),
        _F.RUNNING: (
            _F.WAITING,
            _F.INTERRUPTED,
            _F.CANCELLING,
            _F.COMPLETED,
            *_CLOSING,
        ),
        _F.WAITING: (
            _F.RUNNING,
            _F.INTERRUPTED,
            _F.CANCELLING,
            _F.COMPLETED,
            *_CLOSING,
        ),
        _F.INTERRUPTED: (_F.RUNNING, _F.WAITING, _F.CANCELLING, *_CLOSING),
        _F.CANCELLING: _CLOSING,
        _F.COMPLETED: (),
        _F.FAILED: (),
        _F.CANCELLED: (),
        _F.TERMINATED: (),
        _F.EXPIRED: (),
    }
)
"""Which status a run may take next; the same status is never an edge."""

ACTION_TRANSITIONS: Final = _table(
    {
        _A.PENDING: (_A.RUNNING, _A.EXPIRED, _A.CANCELLED),
        _A.RUNNING: (
            _A.COMPLETED,
            _A.FAILED,
            _A.PENDING,
            _A.RUNNING,
            _A.EXPIRED,
            _A.CANCELLED,
        ),
        _A.FAILED: (_A.AWAITING_RETRY, _A.OPTIONAL_FAILED),
        _A.AWAITING_RETRY: (
            _A.PENDING,
            _A.FAILED,
            _A.OPTIONAL_FAILED,
            _A.CANCELLED,
        ),
        _A.COMPLETED: (),
        _A.OPTIONAL_FAILED: (),
        _A.EXPIRED: (),
        _A.CANCELLED: (),
    }
)
ACTION_INITIAL: Final = frozenset({_A.PENDING, _A.RUNNING})

SIGNAL_TRANSITIONS: Final = _table(
    {
        _S.WAITING: (_S.CONSUMED, _S.TIMED_OUT, _S.CANCELLED),
        _S.RECEIVED: (_S.CONSUMED,),
        _S.CONSUMED: (),
        _S.TIMED_OUT: (),
        _S.CANCELLED: (),
    }
)
SIGNAL_INITIAL: Final = frozenset({_S.WAITING, _S.RECEIVED})

TIMER_TRANSITIONS: Final = _table(
    {_T.PENDING: (_T.FIRED, _T.CANCELLED), _T.FIRED: (), _T.CANCELLED: ()}
)

CHILD_TRANSITIONS: Final = _table(
    {
        _CH.PENDING: (_CH.RUNNING, _CH.FAILED, _CH.CANCELLED),
        _CH.RUNNING: (_CH.COMPLETED, _CH.FAILED, _CH.CANCELLED),
        _CH.FAILED: (_CH.RUNNING,),
        _CH.COMPLETED: (),
        _CH.CANCELLED: (),
    }
)

COMPENSATION_TRANSITIONS: Final = _table(
    {
        _CO.PENDING: (_CO.RUNNING,),
        _CO.RUNNING: (_CO.COMPLETED, _CO.FAILED, _CO.PENDING, _CO.RUNNING),
        _CO.FAILED: (_CO.PENDING,),
        _CO.COMPLETED: (),
    }
)

WORKER_TRANSITIONS: Final = _table(
    {
        _W.ALIVE: (_W.DRAINING, _W.LOST, _W.GONE),
        _W.DRAINING: (_W.LOST, _W.GONE),
        _W.LOST: (),
        _W.GONE: (),
    }
)


def sources_of(target: _C, table: Mapping[_C, frozenset[_C]]) -> frozenset[_C]:
    """Every status from which *table* allows a move to *target*."""
    return frozenset(source for source, targets in table.items() if target in targets)


def flow_sources(target: FlowStatus) -> frozenset[FlowStatus]:
    """Every status from which a run may move to *target*."""
    return sources_of(target, FLOW_TRANSITIONS)


TERMINAL: Final = frozenset(s for s, moves in FLOW_TRANSITIONS.items() if not moves)
MAY_START_WORK: Final = frozenset({_F.PENDING, _F.RUNNING, _F.WAITING})
SIGNALABLE: Final = MAY_START_WORK
TAKES_SIGNAL: Final = SIGNALABLE | {_F.INTERRUPTED}
OPEN: Final = frozenset(FlowStatus) - TERMINAL - {_F.RESERVED}
ENDS_NOW: Final = OPEN - {_F.CANCELLING}
"""From here a client may cancel or roll back; a rollback is not begun twice."""

HAS_A_PASS: Final = frozenset({_F.RUNNING})
LIVE_WORKER: Final = frozenset({_W.ALIVE, _W.DRAINING})

UNSETTLED_STEP: Final = sources_of(_A.CANCELLED, ACTION_TRANSITIONS)
"""Steps that the end of their run cancels."""

MAY_COMPLETE: Final = UNSETTLED_STEP | {_A.COMPLETED}
"""Steps that have completed, or still may: the ones that an undo is for."""

UNFINISHED_UNDO: Final = frozenset({_CO.PENDING, _CO.RUNNING})
"""Undos that stay an open operational item when their run is closed."""

RUNNING_BUCKET, COMPLETED_BUCKET, FAILED_BUCKET = "running", "completed", "failed"


def status_bucket(status: FlowStatus) -> str | None:
    """The coarse bucket of *status*: running, completed, failed; none if reserved."""
    if status is _F.RESERVED:
        return None
    if status in OPEN:
        return RUNNING_BUCKET
    return COMPLETED_BUCKET if status is _F.COMPLETED else FAILED_BUCKET


STATUS_SAGA_FLOW: Final[Mapping[FlowStatus, str | None]] = MappingProxyType(
    {status: status.value for status in FlowStatus}
    | {
        _F.RESERVED: None,
        _F.INTERRUPTED: "waiting",
        _F.TERMINATED: "cancelled",
    }
)
STATUS_DURABLE_WORKFLOW: Final[Mapping[FlowStatus, str | None]] = MappingProxyType(
    {status: status.value for status in FlowStatus}
    | {
        _F.INTERRUPTED: "waiting",
        _F.CANCELLING: "running",
        _F.EXPIRED: "failed",
    }
)
STATUS_LOOPRIG: Final[Mapping[FlowStatus, str | None]] = MappingProxyType(
    {status: status.value for status in FlowStatus}
    | {
        _F.RESERVED: None,
        _F.WAITING: "running",
        _F.CANCELLING: "running",
        _F.TERMINATED: "cancelled",
        _F.EXPIRED: "failed",
    }
)

CLOSED_REASON_OF: Final[Mapping[FlowStatus, ClosedReason]] = MappingProxyType(
    {
        _F.COMPLETED: ClosedReason.COMPLETED,
        _F.FAILED: ClosedReason.FAILED,
        _F.CANCELLED: ClosedReason.CANCELLED,
        _F.TERMINATED: ClosedReason.TERMINATED,
        _F.EXPIRED: ClosedReason.TIMED_OUT,
    }
)


def is_running(status: FlowStatus) -> bool:
    """Whether a handle's ``running()`` is true: open, and not merely reserved."""
    return status in OPEN

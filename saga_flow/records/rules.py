"""Options of steps, undos and starts, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class LostWorker(StrEnum):
    """What the death of a worker in mid-body does to the step."""

    RETRY = "retry"
    """Another attempt, from a budget of its own (at most three)."""

    FAIL = "fail"
    """The step fails, marked in doubt."""


class Limit(StrEnum):
    """Which limit of a step's attempt has passed."""

    TIMEOUT = "timeout"
    """The attempt took too long."""

    SILENCE = "silence"
    """No heartbeat came for too long."""


class Dispatch(StrEnum):
    """Who performs a step; either way it leaves the same outcome."""

    INLINE = "inline"
    """The pass that reached it."""

    QUEUE = "queue"
    """A job of its own."""


class ClosePolicy(StrEnum):
    """What becomes of an open child when its parent ends."""

    ABANDON = "abandon"
    CANCEL = "cancel"
    FAIL = "fail"


class Join(StrEnum):
    """When a block is decided."""

    FAIL_FAST = "fail_fast"
    """At the first member that fails, or once all have settled."""

    WAIT_ALL = "wait_all"
    """Once all members have settled, whatever became of them."""

    FIRST = "first"
    """At the first member that settles."""


class Wakes(StrEnum):
    """Which outcome of a block's member lets the run go on."""

    EACH = "each"
    LAST = "last"
    """Only the one after which no member is open."""

    FAILURE = "failure"
    """A failure that is not survived, or the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What the outcome of a block's member has to know of its block."""

    wakes: Wakes = Wakes.EACH
    limited: bool = False
    """Whether members wait until another one has settled."""


class UndoPolicy(StrEnum):
    """What an undo that failed for good does to the rollback."""

    STOP = "stop"
    CONTINUE = "continue"


class Duplicate(StrEnum):
    """What a start does when the instance id is taken."""

    REJECT = "reject"
    RETURN_EXISTING = "return_existing"
    ALLOW_AFTER_CLOSED = "allow_after_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """A retry policy as it is stored on a row: plain data, classes by name."""

    attempts: int = 1
    delay: timedelta = timedelta()
    backoff: float = 2.0
    max_delay: timedelta | None = None
    jitter: float = 0.0
    non_retryable: tuple[str, ...] = ()
    """Qualified names of exceptions that stop retrying; subclasses match."""

    retry_on: tuple[str, ...] = ()
    """If any: only these are retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Which values of a step nobody is shown, by index or stored name."""

    arguments: tuple[int | str, ...] = ()
    undo: tuple[int | str, ...] = ()
    """Of the arguments of its undo."""

    result: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRule:
    """The options of a step, as snapshotted when it is scheduled."""

    retry: RetryRule = field(default_factory=RetryRule)
    lost_worker: LostWorker = LostWorker.RETRY
    expires_in: timedelta | None = None
    """From scheduling to outcome, all tries together; never of an undo."""

    dispatch: Dispatch = Dispatch.INLINE
    queue: str = ""
    """Where the job of a queued step goes; empty: to its run's queue."""

    atomic: bool = False
    """Whether its body and its outcome are one transaction."""
    member: Membership | None = None
    """Of a step in a block."""

    redact: Redaction = field(default_factory=Redaction)
    timeout: timedelta | None = None
    """How long one attempt may take."""

    heartbeat_timeout: timedelta | None = None
    """How long an attempt may be silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOrder:
    """The undo of a step: data on the step's row."""

    name: str
    arguments: str
    """Encoded; ``RESULT`` still stands for the step's own result."""

    policy: str = ""
    """stop, continue, or empty: the group's or the settings' word counts."""

    on_own_failure: bool | None = None
    """None: the settings' word counts."""

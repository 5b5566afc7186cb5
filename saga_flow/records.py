"""
What crosses the lines between layers: frozen facts, no behaviour beyond reading.

Data goes down as these records; models never leave the store and the queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    CompensationStatus,
    FlowStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)


class LostWorker(str, Enum):
    """What the death of a worker in mid-body does to the step."""

    RETRY = "retry"
    """Another attempt, from a budget of its own (at most three)."""

    FAIL = "fail"
    """The step fails, marked in doubt."""


class UndoPolicy(str, Enum):
    """What an undo that failed for good does to the rollback."""

    STOP = "stop"
    CONTINUE = "continue"


class Duplicate(str, Enum):
    """What a start does when the instance id is taken."""

    REJECT = "reject"
    RETURN_EXISTING = "return_existing"
    ALLOW_AFTER_CLOSED = "allow_after_closed"


class Wanted(str, Enum):
    """What a job is asked to do."""

    DRIVE = "drive"
    PERFORM = "perform"
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """A hint that something may be due; the rows are the truth."""

    kind: Wanted
    id: str
    """A run's UUID (drive), or the row number of a step or undo."""

    queue: str
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asked: a user, a token or a system, as plain strings."""

    type: str = ""
    id: str = ""
    label: str = ""

    def __str__(self) -> str:
        return self.label or ":".join(part for part in (self.type, self.id) if part)


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
class StepRule:
    """The options of a step, as snapshotted when it is scheduled."""

    retry: RetryRule = field(default_factory=RetryRule)
    lost_worker: LostWorker = LostWorker.RETRY
    queue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOrder:
    """The undo of a step: data on the step's row."""

    name: str
    arguments: str
    """Encoded; ``RESULT`` still stands for the step's own result."""

    policy: str = ""
    """stop, continue, or empty: the group's or the settings' word counts."""

    on_own_failure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    """``self.action(...)``, ready to be performed or replayed."""

    name: str
    arguments: str
    rule: StepRule
    undo: UndoOrder | None = None
    optional: bool = False
    fallback: str = "null"
    """Encoded value of an optional step that gave up."""

    fallback_annotation: Any = Any
    """What the fallback is decoded as: it need not be of the result's kind."""

    aliases: tuple[str, ...] = ()
    annotation: Any = Any
    """What the action's result is decoded as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalCall:
    """``self.signal(...).wait(...)``."""

    name: str
    annotation: Any = Any
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """A recorded step, as a pass or a rollback reads it."""

    id: int
    sequence: int
    name: str
    status: ActionStatus
    arguments: str
    options: str
    result: str | None
    error: str | None
    attempt: int
    lost_attempts: int
    token: int
    worker: UUID | None
    available_at: datetime | None
    optional: bool
    fallback: str | None
    queued: bool
    queue: str
    undo_name: str
    undo_arguments: str | None
    undo_policy: str
    undo_on_own_failure: bool
    block: int | None
    in_doubt: bool
    started_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFacts:
    """A recorded wait-marker or delivery."""

    id: int
    name: str
    status: SignalStatus
    sequence: int | None
    payload: str | None
    delivery: int | None
    received_seq: int | None
    timeout_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFacts:
    """A recorded timer."""

    id: int
    sequence: int
    status: TimerStatus
    fire_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffectFacts:
    """A recorded value."""

    sequence: int
    kind: SideEffectKind
    key: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildFacts:
    """A recorded link to a child run."""

    sequence: int
    child: UUID
    workflow_name: str
    status: ChildStatus
    result: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoFacts:
    """One undo of a rollback, as its driver reads it."""

    id: int
    sequence: int
    order: int
    level: int
    name: str
    status: CompensationStatus
    arguments: str
    options: str
    policy: str
    attempt: int
    lost_attempts: int
    token: int
    worker: UUID | None
    available_at: datetime | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All recorded operations of a run, read once at the start of a pass."""

    steps: Mapping[int, StepFacts] = field(default_factory=dict)
    markers: Mapping[int, SignalFacts] = field(default_factory=dict)
    """Signals that hold an ordinal: waits, and early deliveries taken."""

    unread: tuple[SignalFacts, ...] = ()
    """Deliveries not yet taken, in the order in which they came."""

    payloads: Mapping[int, str | None] = field(default_factory=dict)
    """Payload of each delivery that ended a marker, by its row number."""

    timers: Mapping[int, TimerFacts] = field(default_factory=dict)
    side_effects: Mapping[int, SideEffectFacts] = field(default_factory=dict)
    children: Mapping[int, ChildFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to drive one run, with all that a pass needs to know of it."""

    run: UUID
    owner: UUID
    epoch: int
    inbox: int
    passes: int
    position: int
    status: FlowStatus
    first: bool
    """Whether this is the run's first pass ever."""

    intent: str | None
    now: datetime
    """The database's time at the claim."""

    instance_id: str
    tenant: str
    run_number: int
    workflow_name: str
    workflow_version: str
    arguments: str | None
    queue: str
    closing_as: FlowStatus | None
    error: str | None
    drain_until: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One journal line to be written."""

    type: str
    step: int | None = None
    data: str = "{}"
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one attempt of a step; held until a commit carries it."""

    sequence: int
    name: str
    attempt: int
    token: int
    status: ActionStatus
    """completed, failed, optional_failed, or pending: another attempt is owed."""

    result: str | None = None
    error: str | None = None
    message: str = ""
    """What was thrown, in one bounded line, for the journal."""

    available_at: datetime | None = None
    started_at: datetime | None = None
    in_doubt: bool = False
    has_undo: bool = False
    queued: bool = False
    """Whether a job of its own performed it."""

    @property
    def succeeded(self) -> bool:
        """Whether the body took effect and returned a storable value."""
        return self.status is ActionStatus.COMPLETED


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStep:
    """A step to be inserted."""

    sequence: int
    call: StepCall
    status: ActionStatus
    token: int = 0
    """Of an inline step that starts at once: the lease epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMarker:
    """A wait-marker to be inserted."""

    sequence: int
    name: str
    timeout_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTimer:
    """A timer to be inserted; one that was waited out in the pass has fired."""

    sequence: int
    fire_at: datetime
    fired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSideEffect:
    """A recorded value to be inserted."""

    sequence: int
    kind: SideEffectKind
    key: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSignal:
    """A delivery that a pass read: it ends a marker, or takes the ordinal."""

    delivery: int
    sequence: int
    marker: int | None
    applied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a pass has decided since its last commit, in the order decided."""

    held: Outcome | None = None
    gave_up: tuple[int, ...] = ()
    """Ordinals of optional steps that failed: their fallback was returned."""

    side_effects: tuple[NewSideEffect, ...] = ()
    taken: tuple[TakenSignal, ...] = ()
    timed_out: tuple[int, ...] = ()
    """Row numbers of markers whose time is up."""

    fired: tuple[int, ...] = ()
    """Row numbers of timers that are due."""

    timers: tuple[NewTimer, ...] = ()
    markers: tuple[NewMarker, ...] = ()
    steps: tuple[NewStep, ...] = ()
    """Steps that jobs of their own perform."""

    tags: Mapping[str, str] = field(default_factory=dict)
    memo: str | None = None
    summary: str | None = None
    lines: tuple[Line, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return self == Gathered()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a suspended run waits for, for the guard and for people."""

    wake_at: datetime | None
    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """The latest attempt of an inline step, which another one is to follow."""

    sequence: int
    name: str
    status: ActionStatus
    attempt: int
    lost_attempts: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """One undo of a plan, arguments already filled in."""

    sequence: int
    level: int
    name: str
    arguments: str
    options: str
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which run a command is for: the instance's current one, or one run."""

    instance_id: str = ""
    run_id: UUID | None = None
    tenant: str = ""

    @property
    def scope(self) -> str:
        """instance or run."""
        return "instance" if self.run_id is None else "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The circumstances of a command: who, why, and under which conditions."""

    source: str = "python"
    principal: Principal = field(default_factory=Principal)
    reason: str = ""
    expected_revision: int | None = None
    idempotency_key: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOrder:
    """A start, or a reservation (then ``arguments`` is None)."""

    workflow_name: str
    arguments: str | None
    instance_id: str = ""
    tenant: str = ""
    version: str = ""
    contract: str = "{}"
    queue: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    memo: str = "{}"
    business_key: str = ""
    expires_in: timedelta | None = None
    run_after: timedelta | None = None
    on_duplicate: Duplicate = Duplicate.REJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command was answered (docs/operations.md, "Answers")."""

    accepted: bool
    outcome: str
    run_id: UUID | None = None
    instance_id: str = ""
    workflow_name: str = ""
    command_id: UUID | None = None
    command_sequence: int | None = None
    rejection_reason: str = ""
    message: str = ""
    idempotent: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run as it stood when it was read; what handles and pages show."""

    run_id: UUID
    instance_id: str
    tenant: str
    run_number: int
    is_current: bool
    workflow_name: str
    workflow_version: str
    status: FlowStatus
    status_bucket: str | None
    closed_reason: str | None
    closing_as: str | None
    compensation_state: str
    revision: int
    history_seq: int
    result: str | None
    error: Mapping[str, Any] | None
    status_summary: str
    wait_kind: str
    wait_name: str
    wait_reason: str
    last_error: str
    reason: str
    queue: str
    business_key: str
    memo: Mapping[str, Any]
    parent: UUID | None
    lease_owner: UUID | None
    lease_lost: bool
    wake_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    closed_at: datetime | None
    archived_at: datetime | None
    successor: UUID | None

    @property
    def is_terminal(self) -> bool:
        """Whether the run is closed for good."""
        return self.status in FlowStatus.terminal()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a workflow may know of its own run."""

    run_id: UUID
    instance_id: str
    run_number: int
    version: str
    history_size: int
    """Recorded ordinals so far."""

    should_continue_as_new: bool

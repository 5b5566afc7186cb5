"""What is recorded, as a pass or a rollback reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
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
    expires_at: datetime | None
    optional: bool
    fallback: str | None
    queued: bool
    queue: str
    undo_name: str
    undo_arguments: str | None
    undo_policy: str
    undo_on_own_failure: bool | None
    block: int | None
    closed_by: str | None
    in_doubt: bool
    started_at: datetime | None
    deadline_at: datetime | None

    @property
    def is_bodiless(self) -> bool:
        """Whether it is an undo that was added, with no body that was ever called."""
        return self.status is ActionStatus.COMPLETED and self.attempt == 0


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
    started_at: datetime | None
    deadline_at: datetime | None


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
    tenancy: str | None = None
    """What was captured of the tenant at the start."""

    parent: UUID | None = None
    repairs: int = 0
    """How many passes in a row were broken off."""

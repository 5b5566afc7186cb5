"""What a run left in each table, as frozen records; fields are named as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    ClosedBy,
    CommandStatus,
    CompensationStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)

PAYLOADS: Final = frozenset(
    {"arguments", "result", "fallback", "options", "payload", "value"}
)
"""Fields of any size: stored text, None where the reader was told to skip them."""

STORED_TEXT: Final = PAYLOADS | {"progress"}
"""Fields that hold a value as it is stored, and may be sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step; ``attempt`` counts all tries, lost ones included."""

    id: int
    run_id: UUID
    sequence: int
    name: str
    status: ActionStatus
    closed_by: ClosedBy | None
    in_doubt: bool
    optional: bool
    attempt: int
    lost_attempts: int
    error: Mapping[str, Any] | None
    undo_name: str
    undo_policy: str
    undo_on_own_failure: bool | None
    queued: bool
    queue: str
    worker: UUID | None
    block: int | None
    available_at: datetime | None
    deadline_at: datetime | None
    expires_at: datetime | None
    heartbeat_at: datetime | None
    progress: str | None
    """Stored text of what the body last said of itself."""

    created_at: datetime
    started_at: datetime | None
    closed_at: datetime | None
    arguments: str | None = None
    result: str | None = None
    fallback: str | None = None
    options: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One failed, lost or superseded try of a step or, with ``undo``, of its undo."""

    id: int
    sequence: int
    attempt: int
    undo: bool
    outcome: str
    error: Mapping[str, Any] | None
    worker: UUID | None
    started_at: datetime | None
    closed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationRow:
    """One undo; ``sequence`` is the ordinal of the step that it takes back."""

    id: int
    run_id: UUID
    sequence: int
    order: int
    level: int
    name: str
    status: CompensationStatus
    policy: str
    out_of_order: bool
    attempt: int
    lost_attempts: int
    error: Mapping[str, Any] | None
    worker: UUID | None
    available_at: datetime | None
    handled_by: str
    handled_note: str
    handled_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    closed_at: datetime | None
    arguments: str | None = None
    options: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRow:
    """A wait-marker (``waiting`` and what ends it), or a delivery."""

    id: int
    name: str
    status: SignalStatus
    sequence: int | None
    delivery_id: int | None
    """Of a marker: the delivery that ended it."""

    received_seq: int | None
    applied_seq: int | None
    timeout_at: datetime | None
    created_at: datetime
    closed_at: datetime | None
    payload: str | None = None

    @property
    def is_delivery(self) -> bool:
        """Whether somebody sent it; a marker is what the run waits with."""
        return self.received_seq is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerRow:
    """One durable sleep."""

    id: int
    sequence: int
    status: TimerStatus
    fire_at: datetime
    created_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffectRow:
    """One recorded value; an interrupt without a value still waits for its resume."""

    id: int
    sequence: int
    kind: SideEffectKind
    key: str
    created_at: datetime
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRow:
    """The link to a run that this one started."""

    id: int
    sequence: int
    child: UUID
    workflow_name: str
    status: ChildStatus
    close_policy: str
    close_requested: str
    continue_on_failure: bool
    error: Mapping[str, Any] | None
    created_at: datetime
    closed_at: datetime | None
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """One request to the engine, accepted or not."""

    id: UUID
    type: str
    status: CommandStatus
    outcome: str
    rejection_reason: str
    message: str
    target_scope: str
    instance_id: str
    run_id: UUID | None
    sequence: int | None
    source: str
    principal_type: str
    principal_id: str
    principal_label: str
    reason: str
    request_id: str
    created_at: datetime
    accepted_at: datetime | None
    applied_at: datetime | None
    rejected_at: datetime | None
    payload: str | None = None

    @property
    def principal(self) -> str:
        """Who asked, in one word for people; empty when nobody was named."""
        parts = (self.principal_type, self.principal_id)
        return self.principal_label or ":".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """One journal line."""

    sequence: int
    type: str
    step: int | None
    actor: str
    data: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRow:
    """One searchable label."""

    key: str
    value: str

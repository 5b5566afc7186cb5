"""What is asked of the engine from outside, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from saga_flow.records.rules import Duplicate
from saga_flow.states import FlowStatus


class Wanted(StrEnum):
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
    tenancy: str | None = None
    """What was captured of the tenant, to be kept with the run."""

    on_duplicate: Duplicate = Duplicate.REJECT
    here: bool = False
    """The caller drives it at once in this process, so no job is sent for it."""


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

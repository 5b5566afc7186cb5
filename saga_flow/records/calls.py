"""What ``handle()`` asks of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from saga_flow.records.requests import StartOrder
from saga_flow.records.rules import ClosePolicy, Join, StepRule, UndoOrder


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

    block: int | None = None
    """The first ordinal of those that are undone as one level, if it is one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalCall:
    """``self.signal(...).wait(...)``."""

    name: str
    annotation: Any = Any
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerCall:
    """``self.timer(...)``: a sleep that stands beside other members of a block."""

    duration: timedelta | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCall:
    """Members that are performed side by side."""

    members: tuple[MemberCall, ...]
    join: Join
    limit: int | None = None
    """How many steps may be in flight at once; None: as many as there are."""


MemberCall: TypeAlias = StepCall | SignalCall | TimerCall | BlockCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCall:
    """``self.child(...)``, ready to be started or replayed."""

    order: StartOrder
    """Without instance id, tenant and tenancy unless named: the pass fills them in."""

    close_policy: ClosePolicy = ClosePolicy.ABANDON
    continue_on_failure: bool = False
    detached: bool = False
    """Nothing is awaited: the answer is its run, instance id and tenant."""

    annotation: Any = Any
    restores_tenancy: bool | None = None
    """Whether the child's workflow wants its tenant restored; None: the settings."""


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
    tenancy_context: Any = None
    """What the hook of the host's captured when the run was started."""

"""What a pass or a rollback has decided, as the store writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from saga_flow.records.calls import StepCall
from saga_flow.records.requests import StartOrder
from saga_flow.records.rules import ClosePolicy, Membership, StepRule
from saga_flow.states import ActionStatus, SideEffectKind


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
    """completed, failed, expired, or pending: another attempt is owed."""

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

    recorded: bool = False
    """Whether it was committed together with what its body wrote."""
    optional: bool = False
    block: int | None = None
    member: Membership | None = None
    """Of a step in a block: its place, and what its outcome means there."""

    before: ActionStatus = ActionStatus.RUNNING
    """Of the row under this claim; pending if the step ends between two tries."""

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

    expires_at: datetime | None = None
    block: int | None = None
    """The ordinal of the first member of its block."""

    held_back: bool = False
    """It may not start before another member of its block has settled."""


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
class NewChild:
    """A child to be started, and the link to it."""

    sequence: int
    run: UUID
    order: StartOrder
    close_policy: ClosePolicy
    continue_on_failure: bool


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
class Losers:
    """The members that were open when their block was decided."""

    steps: tuple[int, ...] = ()
    """Ordinals. One that is running keeps its claim, and its outcome counts."""

    markers: tuple[int, ...] = ()
    """Row numbers."""

    timers: tuple[int, ...] = ()
    """Row numbers."""


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

    children: tuple[NewChild, ...] = ()
    losers: tuple[Losers, ...] = ()
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Labels by key; None takes one away."""

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
    at_once: bool = False
    """There is something to do already; then ``wake_at`` is not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """The latest attempt of an inline step, which another one is to follow."""

    sequence: int
    name: str
    status: ActionStatus
    attempt: int
    lost_attempts: int
    token: int
    rule: StepRule


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """One undo of a plan, arguments already filled in."""

    sequence: int
    level: int
    name: str
    arguments: str
    options: str
    policy: str

    @property
    def place(self) -> tuple[int, int]:
        """Where it comes in the plan: by level, and in one the newest step first."""
        return self.level, -self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Why a rollback's driver stops, and when somebody is to look again."""

    until: datetime | None
    """None: at once, once other runs had their turn."""

    reason: str
    level: int | None = None
    """Of several undos, each of which gets a job of its own now."""

"""A status as an icon, a colour and a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.db.models import TextChoices

from saga_flow.states import (
    ActionStatus,
    CompensationState,
    CompensationStatus,
    FlowStatus,
    SignalStatus,
    TimerStatus,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """What a template needs to draw a status."""

    look: str
    """Names the icon and the colours: one of ``LOOKS``."""

    word: str
    icon: str


LOOKS: Final = tuple(FlowStatus.values)
"""The looks are the statuses of a run; every other status borrows one."""

UNDO_ICON: Final = "undo"

_BORROWED: Final[Mapping[str, FlowStatus]] = MappingProxyType(
    {
        ActionStatus.AWAITING_RETRY.value: FlowStatus.WAITING,
        ActionStatus.OPTIONAL_FAILED.value: FlowStatus.CANCELLED,
        SignalStatus.RECEIVED.value: FlowStatus.PENDING,
        SignalStatus.CONSUMED.value: FlowStatus.COMPLETED,
        SignalStatus.TIMED_OUT.value: FlowStatus.EXPIRED,
        TimerStatus.FIRED.value: FlowStatus.COMPLETED,
        "accepted": FlowStatus.COMPLETED,
        "rejected": FlowStatus.FAILED,
        "lost": FlowStatus.FAILED,
        "superseded": FlowStatus.CANCELLED,
    }
)


def badge(status: TextChoices | str) -> Badge:
    """The badge of any status; a word that is not known is shown as it is."""
    value = str(status)
    look = _BORROWED.get(value, value)
    if look not in LOOKS:
        look = FlowStatus.PENDING
    word = str(status.label) if isinstance(status, TextChoices) else value
    return Badge(look=str(look), word=word, icon=str(look))


def undo_badge(status: CompensationStatus) -> Badge:
    """The badge of one undo: the colour of its status, the icon of undoing."""
    running = status is CompensationStatus.RUNNING
    look = FlowStatus.CANCELLING if running else FlowStatus(status.value)
    return Badge(look=look.value, word=str(status.label), icon=UNDO_ICON)


_ROLLBACK_LOOK: Final[Mapping[str, FlowStatus]] = MappingProxyType(
    {
        CompensationState.PENDING.value: FlowStatus.PENDING,
        CompensationState.RUNNING.value: FlowStatus.CANCELLING,
        CompensationState.COMPLETED.value: FlowStatus.COMPLETED,
        CompensationState.FAILED.value: FlowStatus.FAILED,
    }
)


def rollback_badge(
    state: str, counts: Mapping[CompensationStatus, int] | None = None
) -> Badge | None:
    """How far a run is undone, such as "2 of 3 undone"; None if not at all."""
    if state == CompensationState.NONE:
        return None
    look = _ROLLBACK_LOOK.get(state, FlowStatus.PENDING)
    return Badge(look=look.value, word=_undone(state, counts or {}), icon=UNDO_ICON)


def _undone(state: str, counts: Mapping[CompensationStatus, int]) -> str:
    total = sum(counts.values())
    if not total:
        known = state in CompensationState.values
        return str(CompensationState(state).label) if known else state
    done = counts.get(CompensationStatus.COMPLETED, 0)
    failed = counts.get(CompensationStatus.FAILED, 0)
    told = f"{done} of {total} undone"
    return f"{told}, {failed} failed" if failed else told

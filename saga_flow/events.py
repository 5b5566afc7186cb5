"""
What has happened, told to this process after the commit that made it so.

Each journal line is announced by the Django signal that its type belongs to, never
during a replay, and only by the process that wrote it. A receiver gets ``event``; one
that raises is logged and changes nothing (docs/operations.md, "Events").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.dispatch import Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One journal line that has been committed."""

    run_id: UUID
    type: str
    """The journal's word for it, such as ``action.completed``."""

    step: int | None
    """The ordinal that it is about, if it is about one."""

    actor: str
    data: Mapping[str, Any]


run_status_changed = Signal()
"""A run was created, started, paused, resumed, closed, or began to roll back."""

action_started = Signal()
action_completed = Signal()
action_failed = Signal()
"""A step has failed for good; a try that is followed by another is not told."""

action_expired = Signal()
action_given_up = Signal()
"""An optional step failed, and its fallback was returned."""

compensation_started = Signal()
compensation_completed = Signal()
compensation_failed = Signal()
signal_received = Signal()
signal_consumed = Signal()
signal_timed_out = Signal()
limit_near = Signal()
"""A run has come to 80 % of a structural limit."""

outcome_rejected = Signal()
"""A late outcome was refused: its effect may stand, and nobody records it."""

SIGNALS: Final[Mapping[str, Signal]] = {
    "flow.reserved": run_status_changed,
    "flow.created": run_status_changed,
    "flow.started": run_status_changed,
    "flow.interrupted": run_status_changed,
    "flow.resumed": run_status_changed,
    "flow.completed": run_status_changed,
    "flow.failed": run_status_changed,
    "flow.cancelled": run_status_changed,
    "flow.terminated": run_status_changed,
    "flow.expired": run_status_changed,
    "rollback.started": run_status_changed,
    "action.started": action_started,
    "action.completed": action_completed,
    "action.failed": action_failed,
    "action.lost": action_failed,
    "action.expired": action_expired,
    "action.given_up": action_given_up,
    "action.outcome_rejected": outcome_rejected,
    "compensation.started": compensation_started,
    "compensation.completed": compensation_completed,
    "compensation.failed": compensation_failed,
    "compensation.outcome_rejected": outcome_rejected,
    "signal.received": signal_received,
    "signal.consumed": signal_consumed,
    "signal.timed_out": signal_timed_out,
    "limit.near": limit_near,
}
_DISTINCT: Final = tuple(dict.fromkeys(SIGNALS.values()))


def wanted() -> bool:
    """Whether anybody in this process listens at all."""
    return any(signal.receivers for signal in _DISTINCT)


def announce(run_id: UUID, lines: Iterable[Mapping[str, Any]]) -> None:
    """Tell the receivers of each of *lines*, which are committed journal rows."""
    for line in lines:
        signal = SIGNALS.get(line["type"])
        if signal is not None and signal.receivers:
            data = json.loads(line["data"])
            # the result of a late outcome is an author's value, and for the row alone
            event = Event(
                run_id=run_id,
                type=line["type"],
                step=line["step"],
                actor=line["actor"],
                data={k: v for k, v in data.items() if k != "result"},
            )
            signal.send_robust(sender=Event, event=event)

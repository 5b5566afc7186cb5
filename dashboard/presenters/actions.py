"""What an operator can do to a run, and what it would mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from saga_flow.records import Snapshot
from saga_flow.states import (
    ENDS_NOW,
    OPEN,
    TAKES_SIGNAL,
    ActionStatus,
    FlowStatus,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One button; a verb, and the statuses under which it makes sense."""

    slug: str
    verb: str
    legal: frozenset[FlowStatus]
    grave: bool = False
    """Asks for the instance id to be typed."""


ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        action.slug: action
        for action in (
            Action(slug="signal", verb="Signal", legal=TAKES_SIGNAL),
            Action(slug="cancel", verb="Cancel", legal=ENDS_NOW),
            Action(slug="compensate", verb="Roll back", legal=ENDS_NOW),
            Action(slug="terminate", verb="Terminate", legal=OPEN, grave=True),
        )
    }
)


def offered(run: Snapshot) -> tuple[Action, ...]:
    """The actions that the run's status allows."""
    return tuple(each for each in ACTIONS.values() if run.status in each.legal)


def why_none(run: Snapshot) -> str:
    """Why there is no button."""
    if run.is_terminal:
        return "This run is closed; nothing can be done to it."
    if run.status is FlowStatus.RESERVED:
        return "Only the instance id is held; nothing has been started."
    return ""


def consequence(action: Action, counts: Mapping[ActionStatus, int]) -> str:
    """One sentence that says what will happen."""
    done = counts.get(ActionStatus.COMPLETED, 0)
    steps = "1 completed step" if done == 1 else f"{done:,} completed steps"
    stays = "stays" if done == 1 else "stay"
    match action.slug:
        case "cancel":
            return (
                f"The run ends now as cancelled and nothing is undone: {steps} {stays} "
                "applied. To undo, use Roll back."
            )
        case "compensate":
            return (
                f"No further step starts. The undos of {steps} run, newest first; then "
                "the run is cancelled."
            )
        case "terminate":
            return (
                f"The run is closed by force and no undo runs: {steps} {stays} "
                "applied. To undo, use Roll back."
            )
    return "The signal is stored and wakes the run, which reads it when it asks for it."

"""Recorded history against what the code asks for now. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias
from uuid import UUID

from saga_flow.exceptions import DefiniteFailure, HistoryMismatch
from saga_flow.records import (
    ChildFacts,
    Facts,
    SideEffectFacts,
    SignalFacts,
    StepFacts,
    TimerFacts,
)

Recorded: TypeAlias = (
    StepFacts | SignalFacts | TimerFacts | SideEffectFacts | ChildFacts
)


def by_ordinal(facts: Facts, *, run: UUID, position: int) -> dict[int, Recorded]:
    """
    Every recorded operation by its ordinal.

    Raises DefiniteFailure when the history has a gap, holds an ordinal twice, or is
    not as long as the run row says: nothing that a deploy could mend.
    """
    found: dict[int, Recorded] = {}
    shelves: Iterable[Iterable[Recorded]] = (
        facts.steps.values(),
        facts.markers.values(),
        facts.timers.values(),
        facts.side_effects.values(),
        facts.children.values(),
    )
    count = 0
    for shelf in shelves:
        for recorded in shelf:
            count += 1
            if recorded.sequence is not None:
                found[recorded.sequence] = recorded
    if (
        count != position
        or len(found) != count
        or any(ordinal not in found for ordinal in range(position))
    ):
        raise DefiniteFailure(
            f"The recorded history of run {run} is broken: its row says "
            f"{position} recorded operations, and {count} are there, at ordinals "
            f"{_brief(found)}."
        )
    return found


def _brief(found: Iterable[int]) -> str:
    ordinals = sorted(found)
    if len(ordinals) <= 6:
        return ", ".join(map(str, ordinals)) or "none"
    return f"{ordinals[0]} … {ordinals[-1]}"


def described(recorded: Recorded) -> str:
    """What is recorded, in the words of an error."""
    match recorded:
        case StepFacts() if recorded.is_bodiless:
            return f"an added undo {recorded.name!r}"
        case StepFacts():
            return f"action {recorded.name!r}"
        case SignalFacts():
            return f"a wait for signal {recorded.name!r}"
        case TimerFacts():
            return "a timer"
        case SideEffectFacts():
            return f"{recorded.kind.value} {recorded.key!r}"
        case ChildFacts():
            return f"child {recorded.workflow_name!r}"


def mismatch(
    run: UUID, sequence: int, recorded: Recorded | None, requested: str
) -> HistoryMismatch:
    """The error that names ordinal, recorded and requested."""
    return HistoryMismatch(
        run_id=run,
        sequence=sequence,
        recorded="nothing" if recorded is None else described(recorded),
        requested=requested,
    )

"""The undos of one rollback, level by level, and where its driver is. Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from uuid import UUID

from saga_flow.records import UndoFacts, UndoPolicy
from saga_flow.states import UNFINISHED_UNDO, CompensationStatus


class Levels:
    """
    A plan in the order in which it is carried out.

    It keeps its place behind what is settled, so that going through a plan costs as
    much as the plan is long, and no more.
    """

    def __init__(self, undos: Sequence[UndoFacts]) -> None:
        """Take *undos* by level, and by their order within it."""
        self._undos = list(undos)
        self._places = {undo.id: place for place, undo in enumerate(undos)}
        self._head = 0

    def put(self, undo: UndoFacts) -> None:
        """Keep *undo* as it stands now."""
        self._undos[self._places[undo.id]] = undo

    def current(self) -> Sequence[UndoFacts]:
        """
        The level to be undone now, with all that belong to it.

        Empty when all are settled, or when an undo of the last level failed for good
        under the policy to stop.
        """
        while self._head < len(self._undos):
            level = self._level_at(self._head)
            if any(undo.status in UNFINISHED_UNDO for undo in level):
                return level
            if any(map(_stops, level)):
                break
            self._head += len(level)
        return ()

    def _level_at(self, place: int) -> Sequence[UndoFacts]:
        end = place + 1
        level = self._undos[place].level
        while end < len(self._undos) and self._undos[end].level == level:
            end += 1
        return self._undos[place:end]


def _stops(undo: UndoFacts) -> bool:
    failed = undo.status is CompensationStatus.FAILED
    return failed and undo.policy == UndoPolicy.STOP


def is_busy(undo: UndoFacts, living: Container[UUID]) -> bool:
    """Whether one of the *living* workers is in the body of *undo*."""
    running = undo.status is CompensationStatus.RUNNING
    return running and undo.worker is not None and undo.worker in living


def next_at(undos: Sequence[UndoFacts], now: datetime) -> datetime | None:
    """When the next try of one of *undos* falls due after *now*, if any does."""
    times = (
        undo.available_at
        for undo in undos
        if undo.status is CompensationStatus.PENDING and undo.available_at is not None
    )
    return min((time for time in times if time > now), default=None)


def is_due(undo: UndoFacts, now: datetime, living: Container[UUID]) -> bool:
    """Whether somebody may begin a try of *undo* at *now*."""
    if undo.status is CompensationStatus.PENDING:
        return undo.available_at is None or undo.available_at <= now
    return undo.status is CompensationStatus.RUNNING and not is_busy(undo, living)

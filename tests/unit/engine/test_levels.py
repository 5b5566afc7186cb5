"""A rollback's plan, gone through level by level."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from saga_flow.engine.levels import Levels, is_busy, is_due, next_at
from saga_flow.records import UndoFacts
from saga_flow.states import CompensationStatus

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SOON = NOON + timedelta(seconds=5)
ALIVE, DEAD = UUID(int=1), UUID(int=2)


def undo(
    id: int,
    level: int,
    status: str = "pending",
    kind: type[UndoFacts] = UndoFacts,
    **facts: Any,
) -> UndoFacts:
    known: dict[str, Any] = {
        "sequence": id,
        "order": id,
        "name": "give_back",
        "arguments": "{}",
        "options": "{}",
        "policy": "stop",
        "attempt": 0,
        "lost_attempts": 0,
        "token": 0,
        "worker": None,
        "available_at": NOON,
        "error": None,
        "started_at": None,
        "deadline_at": None,
    }
    status_ = CompensationStatus(status)
    return kind(id=id, level=level, status=status_, **{**known, **facts})


def ids(levels: Levels) -> list[int]:
    return [each.id for each in levels.current()]


def test_levels_come_one_after_another_and_whole() -> None:
    levels = Levels([undo(4, -4), undo(3, -1), undo(2, -1), undo(0, 0)])

    assert ids(levels) == [4]
    levels.put(undo(4, -4, "completed"))
    assert ids(levels) == [3, 2]
    levels.put(undo(2, -1, "completed"))
    assert ids(levels) == [3, 2]
    levels.put(undo(3, -1, "failed", policy="continue"))
    assert ids(levels) == [0]
    levels.put(undo(0, 0, "completed"))
    assert ids(levels) == []


def test_a_failure_stops_after_its_level_and_not_within_it() -> None:
    levels = Levels([undo(3, -1, "failed"), undo(2, -1), undo(0, 0)])

    assert ids(levels) == [3, 2]
    levels.put(undo(2, -1, "completed"))
    assert ids(levels) == []


def test_going_through_a_plan_looks_at_each_undo_a_few_times() -> None:
    """Not at all of them after each: that would take hours for a long plan."""
    looks = 0

    class Counted(UndoFacts):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name in {"status", "level"}
            return super().__getattribute__(name)

    length = 500
    levels = Levels([undo(n, -n, kind=Counted) for n in range(length, 0, -1)])

    for _ in range(length):
        [current] = levels.current()
        levels.put(undo(current.id, current.level, "completed"))

    assert list(levels.current()) == []
    assert looks < 10 * length


@pytest.mark.parametrize(
    ("each", "due", "busy"),
    [
        (undo(1, 0), True, False),
        (undo(1, 0, available_at=SOON), False, False),
        (undo(1, 0, "running", worker=ALIVE), False, True),
        (undo(1, 0, "running", worker=DEAD), True, False),
        (undo(1, 0, "running"), True, False),
        (undo(1, 0, "completed"), False, False),
        (undo(1, 0, "failed"), False, False),
    ],
)
def test_what_may_be_begun(each: UndoFacts, *, due: bool, busy: bool) -> None:
    assert is_due(each, NOON, {ALIVE}) is due
    assert is_busy(each, {ALIVE}) is busy


def test_the_next_try_is_the_earliest_that_is_still_to_come() -> None:
    later = SOON + timedelta(seconds=1)
    level = [
        undo(1, 0, available_at=later),
        undo(2, 0, available_at=SOON),
        undo(3, 0),
        undo(4, 0, "running", worker=ALIVE, available_at=None),
    ]

    assert next_at(level, NOON) == SOON
    assert next_at(level, later) is None

"""Records into words: pure, by tables."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.presenters.badges import LOOKS, badge, rollback_badge, undo_badge
from dashboard.presenters.durations import duration
from dashboard.presenters.failures import trouble
from dashboard.presenters.lists import VIEWS, how_many
from saga_flow.states import (
    TERMINAL,
    ActionStatus,
    ChildStatus,
    CommandStatus,
    CompensationState,
    CompensationStatus,
    FlowStatus,
    SignalStatus,
    TimerStatus,
)

ENUMS = (
    FlowStatus,
    ActionStatus,
    SignalStatus,
    TimerStatus,
    ChildStatus,
    CommandStatus,
)


@pytest.mark.parametrize("status", [each for enum in ENUMS for each in enum], ids=repr)
def test_every_status_has_a_look_and_its_own_word(status: FlowStatus) -> None:
    drawn = badge(status)

    assert drawn.look in LOOKS
    assert drawn.word == str(status.label)


def test_a_word_of_a_newer_engine_is_shown_as_it_is() -> None:
    assert badge("hibernating").word == "hibernating"


@pytest.mark.parametrize("status", CompensationStatus)
def test_every_undo_has_a_look(status: CompensationStatus) -> None:
    assert undo_badge(status).look in LOOKS


@pytest.mark.parametrize(
    ("state", "counts", "word"),
    [
        ("none", {}, None),
        ("pending", {}, "Undo pending"),
        ("completed", {CompensationStatus.COMPLETED: 3}, "3 of 3 undone"),
        (
            "failed",
            {CompensationStatus.COMPLETED: 2, CompensationStatus.FAILED: 1},
            "2 of 3 undone, 1 failed",
        ),
        ("unheard_of", {}, "unheard_of"),
    ],
)
def test_a_rollback_is_told_in_numbers(
    state: str, counts: dict[CompensationStatus, int], word: str | None
) -> None:
    drawn = rollback_badge(state, counts)

    assert (drawn and drawn.word) == word


def test_every_rollback_state_has_a_look() -> None:
    drawn = [rollback_badge(state) for state in CompensationState]

    assert {each.look for each in drawn if each} <= set(LOOKS)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0 ms"),
        (0.44, "440 ms"),
        (36.3, "36.3 s"),
        (252, "4 min 12 s"),
        (3 * 3600 + 300, "3 h 05 min"),
        (2 * 86400 + 4 * 3600, "2 d 4 h"),
    ],
)
def test_a_duration_is_short_and_lines_up(seconds: float, told: str) -> None:
    assert duration(timedelta(seconds=seconds)) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 runs"), (1, "1 run"), (1234, "1,234 runs"), (10_001, "10,000+ runs")],
)
def test_a_count_says_when_it_is_capped(count: int, told: str) -> None:
    assert how_many(count, 10_000) == told


@pytest.mark.parametrize("error", [{}, {"type": None, "causes": "x"}, {"message": 7}])
def test_any_stored_error_can_be_shown(error: dict[str, object]) -> None:
    shown = trouble(error)

    assert shown is not None
    assert shown.type == "Error"


def test_there_is_a_list_for_every_way_to_end() -> None:
    assert {status.value for status in TERMINAL} <= set(VIEWS)

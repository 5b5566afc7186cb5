"""When a cluster that looks alive counts as stuck."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from saga_flow.management.spans import spoken
from saga_flow.management.wedge import Wedge
from saga_flow.store.pressure import Pressure

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STUCK = Pressure(
    now=NOW, due_since=NOW - timedelta(minutes=1), live=2, busy=0, newest_line=7
)


def verdicts(*looks: Pressure, patience: float = 4) -> list[bool]:
    wedge = Wedge(patience=patience)
    return [wedge.seen(each, 2.0 * n) for n, each in enumerate(looks)]


def test_due_work_idle_workers_and_nothing_moving_for_long_enough() -> None:
    assert verdicts(STUCK, STUCK, STUCK, STUCK) == [False, False, False, True]


@pytest.mark.parametrize(
    "moves",
    [
        pytest.param({"newest_line": 8}, id="something happened"),
        pytest.param({"busy": 1}, id="a long body is being executed"),
        pytest.param({"due_since": None}, id="nothing is due"),
        pytest.param({"due_since": NOW - timedelta(seconds=4)}, id="just became due"),
        pytest.param({"live": 0}, id="nobody has come up yet"),
    ],
)
def test_whatever_moves_begins_the_wait_anew(moves: dict[str, object]) -> None:
    moving = replace(STUCK, **moves)  # type: ignore[arg-type]

    assert not any(verdicts(STUCK, STUCK, STUCK, moving, STUCK, STUCK)[3:])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_725, "1 h 2 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_lengths_of_time_are_said_in_two_units(seconds: float, words: str) -> None:
    assert spoken(timedelta(seconds=seconds)) == words

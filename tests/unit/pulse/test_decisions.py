"""What the pulse decides without looking at a database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from saga_flow import sweeps
from saga_flow.exceptions import UnknownDefinition
from saga_flow.holdings import Holding
from saga_flow.pulse import leader
from saga_flow.pulse.janitor import abandoned
from saga_flow.store import hints as store_hints

ONE = Holding(kind="run", id="a", token=1)
TWO = Holding(kind="step", id="2", token=7)


def test_a_claim_unheld_for_the_first_time_is_only_suspected() -> None:
    assert abandoned(frozenset(), frozenset({ONE}), frozenset()) == (
        frozenset(),
        frozenset({ONE}),
    )


def test_the_second_time_it_is_given_back() -> None:
    given, suspects = abandoned(
        frozenset({ONE}), frozenset({ONE, TWO}), frozenset({TWO})
    )

    assert (given, suspects) == (frozenset({ONE}), frozenset())


def test_a_claim_that_is_held_by_then_stays() -> None:
    given, _ = abandoned(frozenset({ONE}), frozenset({ONE}), frozenset({ONE}))

    assert given == frozenset()


def test_the_same_run_claimed_anew_is_another_claim() -> None:
    anew = Holding(kind="run", id="a", token=2)
    given, suspects = abandoned(frozenset({ONE}), frozenset({anew}), frozenset())

    assert (given, suspects) == (frozenset(), frozenset({anew}))


@pytest.mark.parametrize(
    ("hints", "seconds"), [(0, 1), (1, 2), (3, 8), (8, 256), (9, 300), (60, 300)]
)
def test_the_window_between_hints_doubles_up_to_five_minutes(
    hints: int, seconds: int
) -> None:
    assert store_hints.window(hints) == timedelta(seconds=seconds)


def test_every_sweep_has_its_turn_in_the_leaders_round() -> None:
    assert set(leader.EVERY) == set(sweeps.REGISTERED)


def test_a_sweep_is_due_again_only_after_its_pause() -> None:
    swept = dict.fromkeys(leader.EVERY, 100.0)

    assert leader.due({}, 100.0) == list(leader.EVERY)
    assert leader.due(swept, 100.5) == []
    assert set(leader.due(swept, 101.0)) == {"due_work", "limits", "workers"}
    assert "doctor" in leader.due(swept, 160.0)


def test_an_unknown_sweep_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownDefinition, match=r"'dead_lines'.*due_work, deadlines"):
        sweeps.run("dead_lines")

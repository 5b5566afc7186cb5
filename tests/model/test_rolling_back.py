"""Whoever overtakes whom, every effect is undone or listed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.model.explore import explore
from tests.model.rolling_back import EITHER, Rules, model

RULES = [field.name for field in fields(Rules)]


def test_with_all_rules_nothing_goes_wrong() -> None:
    explored = explore(model(Rules()))

    assert explored.states > 500
    assert explored.defects == {}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in EITHER])
def test_without_one_of_the_rules_something_goes_wrong(rule: str) -> None:
    explored = explore(model(replace(Rules(), **{rule: False})))

    assert explored.defects


@pytest.mark.parametrize("rule", sorted(EITHER))
def test_either_of_two_rules_keeps_a_step_from_starting_too_early(rule: str) -> None:
    one = explore(model(replace(Rules(), **{rule: False})))
    neither = explore(model(replace(Rules(), **dict.fromkeys(EITHER, False))))

    assert one.defects == {}
    assert "a step began before the one ahead of it had an outcome" in neither.defects


def test_the_shortest_way_to_a_lost_undo_is_told() -> None:
    dropped = replace(Rules(), closing_names_the_inbox=False)

    way = explore(model(dropped)).defects["an undo is left under a closed run"]

    assert way[0] == "step 0 starts"
    assert "somebody rolls it back" in way
    assert any(move.endswith("written alone") for move in way)

"""Whoever overtakes it, an atomic step takes effect once, with its outcome."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.model.committing import EITHER, Rules, model
from tests.model.explore import explore

RULES = [field.name for field in fields(Rules)]


def test_with_all_rules_effect_and_outcome_stand_together() -> None:
    explored = explore(model(Rules()))

    assert explored.states > 50
    assert explored.defects == {}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in EITHER])
def test_without_one_of_the_rules_they_do_not(rule: str) -> None:
    explored = explore(model(replace(Rules(), **{rule: False})))

    assert explored.defects


@pytest.mark.parametrize("rule", sorted(EITHER))
def test_either_of_two_rules_shuts_out_a_worker_that_was_taken_over(rule: str) -> None:
    one = explore(model(replace(Rules(), **{rule: False})))
    neither = explore(model(replace(Rules(), **dict.fromkeys(EITHER, False))))

    assert one.defects == {}
    assert neither.defects


def test_the_shortest_way_to_an_effect_without_its_outcome_is_told() -> None:
    dropped = replace(Rules(), the_guard_comes_after_the_body=False)

    way = explore(model(dropped)).defects["an effect stands without its outcome"]

    assert way == (
        "0 claims the step",
        "0 is in its body",
        "somebody cancels",
        "0 commits",
    )

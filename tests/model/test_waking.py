"""No wake-up is lost, whichever hint, worker or pass is."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.model.explore import explore
from tests.model.waking import Rules, model


def test_with_all_rules_nothing_delivered_is_forgotten() -> None:
    explored = explore(model(Rules()))

    assert explored.states > 200
    assert explored.defects == {}


@pytest.mark.parametrize("rule", [field.name for field in fields(Rules)])
def test_without_one_of_the_rules_a_run_is_stuck(rule: str) -> None:
    explored = explore(model(replace(Rules(), **{rule: False})))

    assert "stuck" in explored.defects

"""
What a step costs the database: counted, never timed.

BEGIN, COMMIT and savepoints are not counted as statements. Nothing here may run
inside a transaction of the test's own, which would make savepoints of commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import override_settings

from saga_flow import Workflow, action, flows
from saga_flow.engine.drive import drive
from saga_flow.store import claims, history, workers
from tests.support.statements import Cost, counted
from tests.zoo.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

POSTGRESQL = "postgresql"
PER_STEP = {POSTGRESQL: 1}
MOST_PER_STEP = 4
FAR = 10_000
MOST_PER_LOAD = 8

_meter: Cost | None = None
_costs: list[Cost] = []
"""What was sent between one body and the next."""


@action(name="cost.nothing")
def nothing(number: int) -> int:
    """Do nothing, but note what it cost to get here."""
    if _meter is not None:
        _costs.append(_meter.take())
    return number


class Loop(Workflow):
    """As many steps as it is told, then a wait if it is told to."""

    class Meta:
        """Its name."""

        name = "cost.loop"

    def handle(self, steps: int, waits: bool = False) -> int:  # noqa: FBT001, FBT002
        """Step by step."""
        for number in range(steps):
            self.action(nothing, number).run()
        if waits:
            self.signal("go").wait()
        self.action(nothing, steps).run()
        return steps


@pytest.fixture(autouse=True)
def _long_slice() -> Iterator[None]:
    with override_settings(SAGA_FLOW={"SLICE": timedelta(hours=1)}):
        workers.ensure()
        _costs.clear()
        yield


@pytest.fixture
def meter() -> Iterator[Cost]:
    """Counts from here on, and is read by each body."""
    global _meter  # noqa: PLW0603 - one test at a time
    with counted() as cost:
        _meter = cost
        yield cost
    _meter = None


def _started(steps: int, *, waits: bool = False) -> UUID:
    return Loop.using(instance_id=f"loop-{steps}").start(steps, waits).run_id


def test_a_step_is_one_commit_of_a_few_statements(meter: Cost) -> None:
    drive(_started(20))

    between = _costs[1:]
    most = PER_STEP.get(connection.vendor, MOST_PER_STEP)
    assert len(between) == 20
    assert {cost.commits for cost in between} == {1}
    assert max(len(cost.statements) for cost in between) <= most, between[5]


@pytest.mark.parametrize("steps", [1, 5, 30])
def test_a_straight_sequence_of_n_steps_is_n_and_2_commits(steps: int) -> None:
    run = _started(steps - 1)

    with counted() as cost:
        drive(run)

    assert flows.load_run(run).completed()
    assert cost.commits == steps + 2


@action(name="cost.row", atomic=True)
def row() -> None:
    """One statement of its own."""
    Effect.objects.create(name="row", attempt=1, pid=1)


class Atomic(Workflow):
    """Steps whose bodies write a row each."""

    class Meta:
        """Its name."""

        name = "cost.atomic"

    def handle(self, steps: int) -> None:
        """Step by step."""
        for number in range(steps):
            self.action(nothing, number).run()
            self.action(row).run()


def test_an_atomic_step_is_two_commits_of_a_few_statements(meter: Cost) -> None:
    drive(Atomic.using(instance_id="atomic").start(5).run_id)

    between = _costs[1:]
    assert len(between) == 4
    # its start, its body with its outcome, and the start of the plain step
    assert {cost.commits for cost in between} == {3}
    most = 4 if connection.vendor == POSTGRESQL else 4 + 1 + 3 + 3
    assert max(len(cost.statements) for cost in between) <= most, between[2]


def test_a_step_far_down_costs_what_an_early_one_costs(meter: Cost) -> None:
    drive(_started(FAR))

    assert len(_costs) == FAR + 1
    early, late = _costs[10], _costs[FAR]
    assert late.statements == early.statements
    assert (late.commits, late.rows) == (early.commits, early.rows)
    # not one of all the steps between them cost more
    assert {len(cost.statements) for cost in _costs[1:]} == {len(early.statements)}
    assert {cost.rows for cost in _costs[1:]} == {early.rows}


def test_loading_takes_as_many_queries_for_1000_steps_as_for_10(meter: Cost) -> None:
    loads: list[int] = []
    resumed: list[int] = []
    for steps in (10, 1000):
        run = _started(steps, waits=True)
        drive(run)
        meter.take()
        history.load(run)
        loads.append(len(meter.take().statements))
        flows.load_run(run).signal("go")
        meter.take()
        _costs.clear()
        drive(run)
        resumed.append(len(_costs[0].statements))

    assert loads[0] == loads[1] <= MOST_PER_LOAD
    assert resumed[0] == resumed[1]


def test_a_claim_is_one_commit_and_on_postgresql_one_statement() -> None:
    run, owner = _started(1), workers.ensure()

    with counted() as cost:
        claim = claims.claim_pass(run, owner)

    assert claim is not None
    assert cost.commits == 1
    most = 1 if connection.vendor == POSTGRESQL else 3
    assert len(cost.statements) <= most, cost.statements

"""What a block costs its run: a pass to begin it, a pass to end it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import override_settings

from saga_flow import Workflow, action, flows, jobs
from saga_flow.engine.drive import drive
from saga_flow.models import ActionRun, FlowRun
from saga_flow.store import workers
from tests.support.statements import Cost, counted

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 1000
FEW = 3
BESIDES = 30
"""Statements of a pass that are not for any member."""


@action(name="cost.member")
def member(number: int) -> int:
    """Do nothing."""
    return number


class Wide(Workflow):
    """As many members as it is told."""

    class Meta:
        """Its name."""

        name = "cost.wide"

    def handle(self, size: int) -> int:
        """All at once."""
        return len(self.map(member, range(size)))


@pytest.fixture(autouse=True)
def _long_slice() -> Iterator[None]:
    with override_settings(SAGA_FLOW={"SLICE": timedelta(hours=1), "SWEEPS": False}):
        workers.ensure()
        yield


def _begun(size: int) -> tuple[UUID, Cost]:
    run = Wide.using(instance_id=f"wide-{size}").start(size).run_id
    with counted() as cost:
        drive(run)
    return run, cost


def _members(run: UUID) -> list[int]:
    rows = ActionRun.objects.filter(run=run).order_by("sequence")
    return list(rows.values_list("pk", flat=True))


def _all_but_two(run: UUID) -> tuple[int, int]:
    """Settle all members but two, as their jobs would; their row numbers."""
    *others, second_last, last = _members(run)
    ActionRun.objects.filter(pk__in=others).update(
        status="completed", attempt=1, result="0", available_at=None
    )
    return second_last, last


def test_a_thousand_members_are_begun_in_one_commit_of_one_job_each() -> None:
    run, cost = _begun(MANY)

    assert len(_members(run)) == MANY
    # the claim, and the suspension that carries them all
    assert cost.commits == 2
    assert len(cost.statements) <= MANY + BESIDES


def test_an_outcome_costs_the_same_in_a_large_block_and_one_pass_ends_it() -> None:
    found: list[tuple[int, int]] = []
    for size in (FEW, MANY):
        run, _ = _begun(size)
        second_last, last = _all_but_two(run)
        passes = FlowRun.objects.get(pk=run).passes
        with counted() as outcome:
            jobs.perform(str(second_last))
        assert FlowRun.objects.get(pk=run).passes == passes
        with counted() as end:
            jobs.perform(str(last))
        # its claim, and its end
        assert FlowRun.objects.get(pk=run).passes == passes + 2
        assert flows.load_run(run).output() == size
        found.append((len(outcome.statements), len(end.statements)))

    assert found[0] == found[1]

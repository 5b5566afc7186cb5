"""Members of one block that settle at the same moment."""

# ruff: noqa: B023 - each race has ended before its round does
from __future__ import annotations

import pytest

from saga_flow import RESULT, Workflow, action, client, jobs
from saga_flow.engine import planning
from saga_flow.models import ActionRun, FlowCommand, FlowRun
from saga_flow.records import Membership, Outcome, Wakes
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import claims, outcomes, workers
from tests.support.engine_tables import check_journal, check_standing
from tests.support.races import none_raised, rounds, together

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="block_race.work")
def work(name: str) -> str:
    """Do it; ``no`` is refused."""
    if name == "no":
        raise RuntimeError(name)
    return name


@action(name="block_race.undo")
def undo(name: str) -> None:
    """Take it back."""


class Pair(Workflow):
    """Two members."""

    class Meta:
        """Its name."""

        name = "block_race.pair"

    def handle(self, parts: list[str]) -> list[str]:
        """Both at once."""
        return self.parallel(
            *[self.action(work, p).compensate_with(undo, RESULT) for p in parts]
        ).run()


def begun(*parts: str) -> tuple[FlowRun, list[ActionRun]]:
    """A run whose members wait for their jobs."""
    FlowCommand.objects.all().delete()
    FlowRun.objects.all().delete()
    handle = Pair.using(instance_id="pair").start(list(parts))
    jobs.drive(str(handle.run_id))
    run = FlowRun.objects.get(pk=handle.run_id)
    return run, list(ActionRun.objects.filter(run=run).order_by("sequence"))


def claimed(step: ActionRun) -> Outcome:
    """What a worker that performed *step* is about to record."""
    found = claims.claim_step(step.pk, workers.ensure())
    assert found is not None
    return Outcome(
        sequence=step.sequence,
        name=step.name,
        attempt=found[1].attempt,
        token=found[1].token,
        status=ActionStatus.COMPLETED,
        result='"done"',
        queued=True,
        has_undo=True,
        block=0,
        member=Membership(wakes=Wakes.FAILURE),
    )


def test_of_two_last_members_one_wakes_the_run() -> None:
    for _ in rounds():
        run, (left, right) = begun("a", "b")
        held = [claimed(left), claimed(right)]

        answers = together(
            *[
                lambda each=each: outcomes.record(run.pk, each, planning.planner(None))
                for each in held
            ]
        )

        none_raised(answers)
        assert sorted(answers) == [False, True]
        client.drive(run.pk)
        run.refresh_from_db()
        assert run.status == FlowStatus.COMPLETED
        check_journal(run.pk)


def test_a_member_against_the_failure_that_decides_without_it() -> None:
    """It is undone if it took place, and never begun otherwise."""
    for _ in rounds():
        run, (left, right) = begun("no", "b")

        none_raised(
            together(
                lambda: jobs.perform(str(left.pk)), lambda: jobs.perform(str(right.pk))
            )
        )
        client.drive(run.pk)

        run.refresh_from_db()
        right.refresh_from_db()
        assert run.status == FlowStatus.FAILED
        undone = run.compensations.filter(sequence=right.sequence, status="completed")
        assert undone.exists() is (right.status == ActionStatus.COMPLETED)
        if right.status == ActionStatus.CANCELLED:
            assert (right.closed_by, right.attempt) == ("block", 0)
        check_journal(run.pk)
        check_standing(run.pk)

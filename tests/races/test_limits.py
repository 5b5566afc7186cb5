"""A heartbeat, an outcome and the sweep of limits at the same moment."""

# ruff: noqa: B023 - each race has ended before its round does
from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from saga_flow import QUEUE, Workflow, action, client, jobs
from saga_flow.engine import limits as engine
from saga_flow.engine import planning
from saga_flow.models import ActionRun, FlowCommand, FlowRun
from saga_flow.records import Limit, Outcome
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import beats, claims, dialect, outcomes, workers
from saga_flow.store.beats import Beating
from saga_flow.store.limits import Overrun
from tests.support.engine_tables import check_journal, check_standing
from tests.support.races import none_raised, rounds, together

pytestmark = pytest.mark.django_db(transaction=True)


@action(
    name="limit_race.work", dispatch=QUEUE, heartbeat_timeout=timedelta(microseconds=1)
)
def work() -> str:
    """Take longer than it may."""
    return "done"


class Slow(Workflow):
    """One queued step that has to speak up all the time."""

    class Meta:
        """Its name."""

        name = "limit_race.slow"

    def handle(self) -> str:
        """Do it."""
        return self.action(work).run()


def begun() -> tuple[FlowRun, ActionRun]:
    """A run whose step a worker has claimed, and is over its limit at once."""
    FlowCommand.objects.all().delete()
    FlowRun.objects.all().delete()
    handle = Slow.using(instance_id="slow").start()
    jobs.drive(str(handle.run_id))
    [pk] = ActionRun.objects.filter(run=handle.run_id).values_list("pk", flat=True)
    assert claims.claim_step(pk, workers.ensure()) is not None
    return FlowRun.objects.get(pk=handle.run_id), ActionRun.objects.get(pk=pk)


@pytest.mark.covers("D-ACT-4")
def test_outcome_heartbeat_and_enforcement_leave_one_end_and_no_deadlock() -> None:
    for _ in rounds():
        run, step = begun()
        claim: dict[str, Any] = {
            "sequence": 0,
            "attempt": step.attempt,
            "token": step.token,
        }
        held = Outcome(
            **claim,
            name=step.name,
            status=ActionStatus.COMPLETED,
            result='"done"',
            queued=True,
        )
        found = Overrun(run=run.pk, sequence=0, limit=Limit.SILENCE)
        beating = Beating(run=run.pk, **claim, silence=timedelta(hours=1))

        recorded, enforced, _ = none_raised_of(
            together(
                lambda: outcomes.record(run.pk, held, planning.planner(None)),
                lambda: engine.enforce(found),
                lambda: beats.beat(dialect.connection(), beating, '{"n":1}'),
            )
        )

        assert not (recorded is not None and enforced)
        client.drive(run.pk)
        run.refresh_from_db()
        step.refresh_from_db()
        assert run.status == (
            FlowStatus.FAILED if enforced else FlowStatus.COMPLETED
        ), (recorded, enforced)
        assert step.attempt == 1
        check_journal(run.pk)
        check_standing(run.pk)


def none_raised_of(results: list[object]) -> list[object]:
    """*results*, of which none is an error."""
    none_raised(results)
    return results

"""A rollback that is asked for while a workflow undoes everything by itself."""

# ruff: noqa: B023 - each race has ended before its round does
from __future__ import annotations

import pytest

from saga_flow import client, flows, jobs
from saga_flow.models import CompensationRun, FlowCommand, FlowRun
from saga_flow.states import FlowStatus
from tests.integration.compensating.flows import Regret, during, ran
from tests.support.engine_tables import check_journal, check_standing
from tests.support.races import none_raised, rounds, together

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_step_is_undone_once_whoever_undoes_it() -> None:
    for _ in rounds():
        FlowCommand.objects.all().delete()
        FlowRun.objects.all().delete()
        ran.clear()
        during.clear()
        run = Regret.using(instance_id="c1").start().run_id

        none_raised(
            together(
                lambda: jobs.drive(str(run)),
                lambda: flows.load("c1").compensate(),
                lambda: jobs.drive(str(run)),
            )
        )
        client.drive(run)

        assert FlowRun.objects.get(pk=run).status == FlowStatus.CANCELLED
        undone = [what for what in ran if what.startswith("undo")]
        assert len(undone) == len(set(undone))
        done = [f"undo {what}!" for what in ran if not what.startswith("undo")]
        assert sorted(undone) == sorted(done)
        rows = CompensationRun.objects.filter(run=run)
        assert set(rows.values_list("status", flat=True)) <= {"completed"}
        check_journal(run)
        check_standing(run)

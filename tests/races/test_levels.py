"""Jobs of one level, drivers and late comers: each undo is done once."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import pytest
from django.db.models import F

from saga_flow import client, jobs
from saga_flow.engine import drive
from saga_flow.models import CompensationRun, FlowCommand, FlowRun
from saga_flow.records import Outcome, Request, Target, UndoFacts
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import claims, history, undoing
from tests.support import parcels
from tests.support.engine_tables import check_journal, check_standing
from tests.support.parcels import Bundle, ran
from tests.support.races import none_raised, rounds, together
from tests.support.standings import stranger

pytestmark = pytest.mark.django_db(transaction=True)

P1 = Target(instance_id="p1")


def at_its_level() -> UUID:
    """A bundle that rolls back, with jobs sent for the level of two."""
    FlowCommand.objects.all().delete()
    FlowRun.objects.all().delete()
    parcels.forget()
    run: UUID = Bundle.using(instance_id="p1").run_sync("p1").run_id
    assert client.compensate(P1, Request()).accepted
    drive.drive(run)
    ran.clear()
    return run


def undo_at(run: UUID, sequence: int) -> UndoFacts:
    return next(undo for undo in history.undos(run) if undo.sequence == sequence)


def check(run: UUID) -> FlowStatus:
    check_journal(run)
    return check_standing(run)


def test_of_many_jobs_of_one_undo_one_does_it() -> None:
    for _ in rounds():
        run = at_its_level()
        undo = undo_at(run, 1)
        found = together(*(partial(undoing.take, run, undo, stranger()),) * 6)
        none_raised(found)
        assert sum(taken is not None for taken in found) == 1
        assert undo_at(run, 1).attempt == 1
        check(run)


def test_a_late_job_against_the_next_level() -> None:
    """Whoever is first, no undo of a level begins once the rollback has left it."""
    for _ in rounds():
        run = at_its_level()
        FlowRun.objects.filter(pk=run).update(wake_at=F("created_at"))
        claim = claims.claim_rollback(run, stranger())
        assert claim is not None
        late, older = undo_at(run, 1), undo_at(run, 0)
        taken, begun = together(
            partial(undoing.take, run, late, stranger()),
            partial(undoing.start, claim, older),
        )
        none_raised([taken, begun])
        told = check_journal(run)
        assert told.count("compensation.started") == 1 + int(taken is not None)
        assert undoing.take(run, undo_at(run, 2), stranger()) is None
        assert FlowRun.objects.get(pk=run).rollback_level == older.level


def test_the_last_two_outcomes_of_a_level_wake_the_driver_once() -> None:
    for _ in rounds():
        run = at_its_level()
        taken = [undoing.take(run, undo_at(run, n), stranger()) for n in (1, 2)]
        goes_on = together(
            *(partial(settle, run, undo) for undo in taken if undo is not None)
        )
        none_raised(goes_on)
        assert sorted(goes_on) == [False, True]
        drive.drive(run)
        assert check(run) is FlowStatus.CANCELLED


def settle(run: UUID, undo: UndoFacts) -> bool:
    outcome = Outcome(
        sequence=undo.sequence,
        name=undo.name,
        attempt=undo.attempt,
        token=undo.token,
        status=ActionStatus.COMPLETED,
    )
    return undoing.settle_beside(run, undo, outcome, here=False)


def test_drivers_and_jobs_at_once_undo_each_step_once() -> None:
    for _ in rounds():
        run = at_its_level()
        pks = CompensationRun.objects.filter(run=run).values_list("pk", flat=True)
        none_raised(
            together(
                *(partial(jobs.undo, str(pk)) for pk in pks),
                *(partial(jobs.undo, str(pk)) for pk in pks),
                *[partial(drive.drive, run)] * 2,
            )
        )
        client.drive(run)
        assert check(run) is FlowStatus.CANCELLED
        assert sorted(ran) == ["undo:charge", "undo:charge", "undo:reserve"]
        assert ran[-1] == "undo:reserve"
        undos = CompensationRun.objects.filter(run=run)
        assert {(undo.status, undo.attempt) for undo in undos} == {("completed", 1)}

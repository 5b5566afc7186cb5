"""An atomic body against whoever ends or takes its run: both stand, or neither."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from saga_flow import client, flows
from saga_flow.engine import drive
from saga_flow.models import ActionRun, FlowRun, Worker
from saga_flow.states import ActionStatus, FlowStatus, WorkerStatus
from saga_flow.store import claims, workers
from tests.integration.atomic.flows import Inline, during, effects, ran
from tests.support.engine_tables import check_journal, check_standing
from tests.support.races import DEADLINE, none_raised, rounds, together
from tests.support.standings import stranger
from tests.zoo.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_mine", None)
    during.clear()
    yield
    during.clear()


def lose(worker: UUID) -> None:
    """Take *worker* for dead, however lately it has beaten."""
    Worker.objects.filter(pk=worker).update(status=WorkerStatus.LOST)


def take_over(run: UUID) -> None:
    """Somebody else claims the run of a worker that is taken for dead."""
    owner = FlowRun.objects.values_list("lease_owner", flat=True).get(pk=run)
    if owner is not None:
        lose(owner)
        claims.claim_pass(run, stranger())


ACTS: dict[str, Callable[[UUID], object]] = {
    "cancel": lambda run: flows.load_run(run).attempt_cancel(),
    "compensate": lambda run: client.compensate(
        flows.load_run(run)._target, flows.load_run(run)._request
    ),
    "take over": take_over,
}


def race(act: Callable[[UUID], object], *, is_late: bool) -> FlowRun:
    """Drive a run, and *act* on it in its atomic body; *is_late*: which lets it end."""
    Effect.objects.all().delete()
    FlowRun.objects.all().delete()
    ran.clear()
    workers._mine = None
    entered, acted = threading.Event(), threading.Event()

    def body() -> str:
        entered.set()
        if is_late:
            assert acted.wait(DEADLINE)
        return "booked"

    def intrude() -> Any:
        assert entered.wait(DEADLINE)
        try:
            return act(run)
        finally:
            acted.set()

    during["book"] = body
    run = Inline.using(instance_id="a1").start().run_id
    none_raised(together(lambda: drive.drive(run), intrude))
    return FlowRun.objects.get(pk=run)


def whole(run: FlowRun) -> bool:
    """Whether the step is completed; its effect is there once, or not at all."""
    step = ActionRun.objects.get(run=run, name="atomic.book")
    completed = ActionStatus(step.status) is ActionStatus.COMPLETED
    assert effects().count("book") == int(completed), (step.status, effects())
    check_journal(run.pk)
    return completed


@pytest.mark.parametrize("act", ACTS)
def test_both_stand_or_neither_does(act: str) -> None:
    for number in rounds():
        # nobody else can write during a body on SQLite
        is_late = number % 2 == 1 and connection.vendor != "sqlite"
        run = race(ACTS[act], is_late=is_late)
        assert not (whole(run) and is_late)

        if run.lease_owner is not None:
            lose(run.lease_owner)
        workers._mine = None
        client.drive(run.pk)

        check_standing(run.pk)
        run.refresh_from_db()
        completed = whole(run)
        undone = effects().count("undo book")
        if act == "compensate" and run.status == FlowStatus.CANCELLED:
            assert undone == int(completed)
        else:
            assert undone == 0
        if act == "take over":
            assert (run.status, effects().count("book")) == (FlowStatus.COMPLETED, 1)

"""Writes that add to a run without moving it: where they may, and where not."""

from __future__ import annotations

from typing import Any, Final

import pytest

from saga_flow.engine import planning
from saga_flow.models import ActionRun, FlowRun, FlowSignal
from saga_flow.queries import snapshot
from saga_flow.records import Outcome, Request, Target, Wake
from saga_flow.states import (
    MAY_START_WORK,
    OPEN,
    TAKES_SIGNAL,
    TERMINAL,
    ActionStatus,
    FlowStatus,
)
from saga_flow.store import commands, outcomes
from saga_flow.store.command_rows import Command
from saga_flow.store.transaction import Refused
from tests.support import seeding
from tests.support.engine_tables import changes, check_journal, dump
from tests.support.standings import run_in

pytestmark = pytest.mark.django_db

P1: Final = Target(instance_id="p1")
F: Final = FlowStatus


def asked(type_: str) -> Command:
    return Command(
        type=type_, target=P1, request=Request(), outcome="done", payload="null"
    )


@pytest.mark.parametrize("status", sorted(F))
def test_a_delivery_is_stored_where_a_signal_is_taken(
    status: FlowStatus, sent: list[Wake]
) -> None:
    """The guard itself: the client's look before it would let a late one through."""
    run = run_in(status)
    FlowRun.objects.filter(wake_at__isnull=False).update(wake_at=seeding.START)
    before = dump()
    if status not in TAKES_SIGNAL:
        with pytest.raises(Refused):
            commands.signal(asked("signal"), snapshot(P1), "go", 10)
        assert changes(before, dump()) == {}
        assert sent == []
        return
    commands.signal(asked("signal"), snapshot(P1), "go", 10)
    after = FlowRun.objects.get(pk=run.pk)
    delivery = FlowSignal.objects.get(run=run)
    assert (delivery.status, delivery.sequence) == ("received", None)
    assert delivery.received_seq == after.history_seq
    assert (after.status, after.revision) == (status, run.revision)
    assert after.inbox == run.inbox + 1
    # an interrupted run is not woken, and a pending one keeps its time
    woken = status in {F.RUNNING, F.WAITING}
    assert (after.wake_at != (seeding.START if run.wake_at else None)) is woken
    assert (sent == []) is (status is F.INTERRUPTED)
    check_journal(run.pk)


@pytest.mark.parametrize("status", sorted(F))
def test_a_repair_is_for_what_nobody_holds(status: FlowStatus) -> None:
    run_in(status, held=False)
    before = dump()
    if status in MAY_START_WORK | {F.CANCELLING}:
        commands.repair(asked("repair"), snapshot(P1))
        return
    with pytest.raises(Refused):
        commands.repair(asked("repair"), snapshot(P1))
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("status", sorted(F))
def test_only_a_closed_run_is_archived_and_once(status: FlowStatus) -> None:
    run = run_in(status)
    if status in TERMINAL:
        commands.archive(asked("archive"), snapshot(P1))
        assert FlowRun.objects.get(pk=run.pk).revision == run.revision + 1
    before = dump()
    with pytest.raises(Refused):
        commands.archive(asked("archive"), snapshot(P1))
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("status", sorted(F))
def test_an_outcome_is_recorded_in_any_open_run(status: FlowStatus) -> None:
    """And in no other: there it is refused, kept and listed."""
    run = run_in(status)
    columns: dict[str, Any] = {"status": ActionStatus.RUNNING, "token": 3}
    seeding.step(run, 1, name="parcel.ship", **columns)
    held = Outcome(
        sequence=1,
        name="parcel.ship",
        attempt=1,
        token=3,
        status=ActionStatus.COMPLETED,
        result='"track"',
    )
    recorded = outcomes.record(run.pk, held, planning.planner(None))
    after = FlowRun.objects.get(pk=run.pk)
    step = ActionRun.objects.get(run=run, sequence=1)
    assert (recorded is not None) is (status in OPEN)
    assert (after.status, after.revision) == (status, run.revision)
    assert (after.attention == "outcome_rejected") is not recorded
    assert (step.status, step.in_doubt) == (
        ("completed", False) if recorded else ("running", True)
    )
    told = check_journal(run.pk)
    assert told[-1] == ("action.completed" if recorded else "action.outcome_rejected")


@pytest.mark.parametrize(
    "changed", [{"token": 4}, {"attempt": 2}, {"status": "completed"}], ids=str
)
def test_an_outcome_is_recorded_under_its_own_claim_only(
    changed: dict[str, Any],
) -> None:
    run = run_in(F.RUNNING)
    columns: dict[str, Any] = {"status": ActionStatus.RUNNING, "token": 3, **changed}
    step = seeding.step(run, 1, name="parcel.ship", result=None, **columns)
    held = Outcome(
        sequence=1,
        name="parcel.ship",
        attempt=1,
        token=3,
        status=ActionStatus.COMPLETED,
        result='"track"',
    )
    assert outcomes.record(run.pk, held, planning.planner(None)) is None
    step.refresh_from_db()
    assert step.result is None
    assert check_journal(run.pk)[-1] == "action.outcome_rejected"

"""``self.compensate()``: everything so far is undone once, and in no later plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from saga_flow import FlowStatus, client, clock, jobs
from saga_flow.authoring.handle import Handle
from saga_flow.engine import planning
from saga_flow.exceptions import RollbackNotPlannable
from saga_flow.models import ActionRun, CompensationRun, FlowRun, SideEffect
from saga_flow.records import Gathered, Wake
from saga_flow.store import claims, compensating, history, outbox, workers
from saga_flow.store.transaction import Refused
from tests.integration.compensating.flows import (
    LONG,
    Changed,
    Nothing,
    Raced,
    Regret,
    during,
    ran,
)
from tests.support.engine_tables import check_journal, check_standing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out; a test acts upon them."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    ran.clear()
    during.clear()
    return wakes


@pytest.fixture
def time() -> Iterator[clock.FakeClock]:
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


def started(flow: Any) -> Handle[Any]:
    handle: Handle[Any] = flow.using(instance_id="c1").start()
    jobs.drive(str(handle.run_id))
    return handle.refresh()


def undos(run: UUID) -> list[tuple[int, str]]:
    rows = CompensationRun.objects.filter(run=run).order_by("order")
    return list(rows.values_list("sequence", "status"))


def test_a_later_rollback_undoes_only_what_came_later() -> None:
    handle = started(Regret)
    assert ran == ["a", "b", "undo b!", "undo a!", "c"]
    assert handle.compensation_state == "completed"

    handle.compensate()
    client.drive(handle.run_id)

    assert ran[5:] == ["undo c!"]
    assert undos(handle.run_id) == [
        (1, "completed"),
        (0, "completed"),
        (3, "completed"),
    ]
    assert handle.refresh().cancelled()
    assert handle.compensation_state == "completed"
    check_journal(handle.run_id)


def test_a_run_goes_on_after_it_and_says_what_it_has_undone() -> None:
    handle = started(Regret)
    handle.signal("go")
    client.drive(handle.run_id)

    assert handle.refresh().output() == "gone on"
    assert handle.compensation_state == "completed"


def test_nothing_to_undo_is_recorded_all_the_same() -> None:
    handle = started(Nothing)

    assert handle.output() == "a!"
    kinds = SideEffect.objects.filter(run=handle.run_id).order_by("sequence")
    assert list(kinds.values_list("sequence", "kind")) == [
        (0, "compensate"),
        (1, "compensate"),
    ]
    assert handle.compensation_state == "none"


def test_an_undo_that_needs_another_try_is_waited_for(time: clock.FakeClock) -> None:
    def fail_once() -> None:
        during.clear()
        raise RuntimeError("not yet")

    during["undo b!"] = fail_once
    handle = started(Regret)
    run = FlowRun.objects.get(pk=handle.run_id)
    assert (run.status, run.wait_kind) == ("waiting", "undo")
    assert run.wake_at == time.now + LONG
    assert run.compensation_state == "running"
    check_standing(run.pk)

    time.advance(LONG)
    client.drive(handle.run_id)

    assert ran == ["a", "b", "undo b!", "undo b!", "undo a!", "c"]


def test_a_pause_between_two_undos_is_kept_and_nothing_is_undone_twice() -> None:
    def pause() -> None:
        during.clear()
        handle.interrupt()

    during["undo b!"] = pause
    handle: Handle[Any] = Regret.using(instance_id="c1").start()
    jobs.drive(str(handle.run_id))
    assert handle.refresh().status is FlowStatus.INTERRUPTED
    assert undos(handle.run_id) == [(1, "completed"), (0, "pending")]

    handle.resume()
    client.drive(handle.run_id)

    assert ran == ["a", "b", "undo b!", "undo a!", "c"]


def test_a_pause_asked_for_before_it_writes_no_half_of_it() -> None:
    """The ordinal is never on record without its plan."""

    def pause() -> None:
        during.clear()
        handle.interrupt()

    during["b"] = pause
    handle: Handle[Any] = Regret.using(instance_id="c1").start()
    jobs.drive(str(handle.run_id))
    assert handle.refresh().status is FlowStatus.INTERRUPTED
    assert not SideEffect.objects.exists()
    assert undos(handle.run_id) == []

    handle.resume()
    client.drive(handle.run_id)

    assert ran == ["a", "b", "undo b!", "undo a!", "c"]


@pytest.mark.parametrize("command", ["compensate", "cancel", "terminate"])
def test_a_command_meanwhile_takes_over_or_leaves_what_is_not_undone(
    command: str,
) -> None:
    def end() -> None:
        during.clear()
        getattr(handle, command)()

    during["undo b!"] = end
    handle: Handle[Any] = Regret.using(instance_id="c1").start()
    jobs.drive(str(handle.run_id))
    client.drive(handle.run_id)

    rolls_back = command == "compensate"
    assert ran == ["a", "b", "undo b!", *(["undo a!"] if rolls_back else [])]
    assert undos(handle.run_id) == [
        (1, "completed"),
        (0, "completed" if rolls_back else "pending"),
    ]
    assert handle.refresh().is_terminal
    state = "completed" if rolls_back else "failed"
    assert handle.compensation_state == state
    check_journal(handle.run_id)


def test_an_undo_that_fails_for_good_is_told_on_every_pass(
    time: clock.FakeClock,
) -> None:
    def fail() -> None:
        raise RuntimeError("never")

    during["undo b!"] = fail
    handle = started(Regret)
    time.advance(LONG)
    client.drive(handle.run_id)

    assert handle.refresh().output() == "left (0, 1)"
    assert handle.compensation_state == "failed"
    run = FlowRun.objects.get(pk=handle.run_id)
    assert run.attention == "rollback_unfinished"
    assert undos(handle.run_id) == [(1, "failed"), (0, "pending")]


def test_the_loser_of_a_race_that_completes_later_is_in_the_later_plan() -> None:
    handle: Handle[Any] = Raced.using(instance_id="c1").start()
    jobs.drive(str(handle.run_id))
    left, right = ActionRun.objects.filter(run=handle.run_id).order_by("sequence")
    # right is in its body while left wins and everything is undone
    during["right"] = lambda: jobs.perform(str(left.pk))
    jobs.perform(str(right.pk))
    assert ran == ["right", "left", "undo left"]
    assert undos(handle.run_id) == [(0, "completed")]

    handle.compensate()
    client.drive(handle.run_id)

    assert ran[3:] == ["undo right"]
    assert handle.refresh().cancelled()


def test_without_a_plan_nothing_is_written_and_the_run_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unplannable(*_: Any, **__: Any) -> None:
        raise RollbackNotPlannable("no such action", outcome="", reason="")

    with monkeypatch.context() as patch:
        patch.setattr(planning, "plan", unplannable)
        handle = started(Regret)
    run = FlowRun.objects.get(pk=handle.run_id)
    assert (run.status, run.wait_kind) == ("waiting", "repair")
    assert "no such action" in run.last_error
    assert not SideEffect.objects.exists()

    client.drive(handle.run_id)

    assert ran == ["a", "b", "undo b!", "undo a!", "c"]


@pytest.mark.parametrize("undoes", [True, False])
def test_taking_it_out_or_putting_it_in_is_a_mismatch(
    undoes: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Changed, "undoes", undoes)
    handle = started(Changed)
    monkeypatch.setattr(Changed, "undoes", not undoes)
    handle.signal("go")

    client.drive(handle.run_id)

    assert handle.refresh().status is FlowStatus.INTERRUPTED


def test_each_write_names_the_lease() -> None:
    handle: Handle[Any] = Regret.using(instance_id="c1").start()
    claim = claims.claim_pass(handle.run_id, workers.ensure())
    assert claim is not None
    compensating.begin(claim, Gathered(), 0, [])
    FlowRun.objects.filter(pk=claim.run).update(lease_epoch=claim.epoch + 1)
    before = history.undos(claim.run)

    with pytest.raises(Refused):
        compensating.begin(claim, Gathered(), 1, [])
    with pytest.raises(Refused):
        compensating.finish(claim, Gathered(), 0, "{}", complete=True)

    assert history.undos(claim.run) == before
    assert SideEffect.objects.get().value is None

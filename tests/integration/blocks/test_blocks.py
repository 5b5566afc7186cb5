"""Members side by side: scheduled at once, joined by rows, decided once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from saga_flow import WAIT_ALL, FlowStatus, client, clock, jobs
from saga_flow.authoring.handle import Handle
from saga_flow.engine import planning
from saga_flow.models import ActionRun, CompensationRun, FlowRun, FlowSignal, FlowTimer
from saga_flow.records import Membership, Outcome, Wake, Wanted
from saga_flow.states import ActionStatus
from saga_flow.store import claims, outbox, outcomes, workers
from tests.integration.blocks.flows import (
    LONG,
    Changed,
    Faltering,
    Limited,
    Mixed,
    Patience,
    Race,
    Survivor,
    Trip,
    during,
    ran,
)
from tests.support.rows import dump

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def time() -> Iterator[clock.FakeClock]:
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    """Every wake that the store hands out; a test acts upon them."""
    wakes: list[Wake] = []
    monkeypatch.setattr(outbox, "_send", wakes.append)
    ran.clear()
    during.clear()
    return wakes


def started(flow: Any, *arguments: Any) -> Handle[Any]:
    """A run of *flow* that has been driven once."""
    handle: Handle[Any] = flow.using(instance_id="b1").start(*arguments)
    jobs.drive(str(handle.run_id))
    return handle.refresh()


def work_off(sent: list[Wake]) -> None:
    """Do what was sent, and what comes of it."""
    while sent:
        jobs.execute(sent.pop(0))


def perform(handle: Handle[Any], index: int) -> None:
    step = ActionRun.objects.get(run=handle.run_id, block_index=index)
    jobs.perform(str(step.pk))


def steps(run: UUID, *columns: str) -> list[Any]:
    rows = ActionRun.objects.filter(run=run).order_by("sequence")
    return list(rows.values_list(*columns, flat=len(columns) == 1))


def passes(handle: Handle[Any]) -> int:
    return FlowRun.objects.get(pk=handle.run_id).passes


# ------------------------------------------------------------------ scheduled


@pytest.mark.covers("M-PAR-2")
def test_all_members_are_written_at_once_and_each_has_a_job(sent: list[Wake]) -> None:
    handle = started(Trip, ["a", "b", "c"])

    assert steps(handle.run_id, "sequence", "status", "block", "block_index") == [
        (0, "pending", 0, 0),
        (1, "pending", 0, 1),
        (2, "pending", 0, 2),
    ]
    run = FlowRun.objects.get(pk=handle.run_id)
    assert (run.status, run.wait_kind, run.position) == ("waiting", "block", 3)
    assert run.wait_reason == "waiting for 3 of 3 members of a block"
    assert [wake.kind for wake in sent[1:]] == [Wanted.PERFORM] * 3
    assert ran == []


@pytest.mark.covers("M-PAR-1", "D-ACT-7")
def test_results_come_in_the_order_written_and_one_pass_reads_them(
    sent: list[Wake],
) -> None:
    handle = started(Trip, ["a", "b", "c"])
    before = passes(handle)

    perform(handle, 2)
    perform(handle, 0)
    assert passes(handle) == before
    perform(handle, 1)

    assert handle.refresh().output() == ["a!", "b!", "c!"]
    assert ran == ["c", "a", "b", "seal"]


def test_an_empty_block_takes_no_ordinal_and_waits_for_nothing() -> None:
    handle = Trip.using(instance_id="b1").run_sync([])

    assert handle.output() == []
    assert steps(handle.run_id, "sequence", "block") == [(0, None)]


@pytest.mark.covers("M-PAR-3")
@pytest.mark.parametrize("parts", [["a", "b"], ["a", "no b", "c"]])
def test_synchronous_and_queued_runs_leave_the_same_rows(
    parts: list[str], sent: list[Wake]
) -> None:
    queued = started(Trip, parts)
    work_off(sent)
    by_jobs = dump(queued.run_id)
    FlowRun.objects.filter(pk=queued.run_id).update(is_current=None, run_number=9)
    here = Trip.using(instance_id="b1").run_sync(parts)

    assert dump(here.run_id) == by_jobs


# ------------------------------------------------------------------ how it ends


@pytest.mark.covers("M-PAR-4")
def test_the_first_failure_closes_what_is_open_and_undoes_what_completed(
    sent: list[Wake],
) -> None:
    handle = started(Trip, ["a", "no b", "c"])
    perform(handle, 0)

    perform(handle, 1)
    work_off(sent)

    assert handle.refresh().failed()
    assert steps(handle.run_id, "status", "closed_by") == [
        ("completed", None),
        ("failed", None),
        ("cancelled", "block"),
    ]
    assert ran == ["a", "no b", "undo a a!"]


@pytest.mark.covers("M-PAR-5")
def test_wait_all_lets_everybody_settle_and_undoes_all_that_completed(
    sent: list[Wake],
) -> None:
    handle = started(Trip, ["no a", "b", "c"], WAIT_ALL)
    perform(handle, 0)
    assert handle.refresh().status is FlowStatus.WAITING
    perform(handle, 1)
    perform(handle, 2)
    work_off(sent)

    assert handle.refresh().failed()
    assert steps(handle.run_id, "status") == ["failed", "completed", "completed"]
    assert sorted(ran[-2:]) == ["undo b b!", "undo c c!"]


@pytest.mark.covers("M-PAR-7", "M-SAGA-6")
@pytest.mark.parametrize("by_jobs", [True, False])
def test_members_are_undone_as_one_level(
    by_jobs: bool,  # noqa: FBT001
    sent: list[Wake],
) -> None:
    if by_jobs:
        handle = started(Trip, ["a", "b", "no c"], WAIT_ALL)
        work_off(sent)
    else:
        handle = Trip.using(instance_id="b1").run_sync(["a", "b", "no c"], WAIT_ALL)

    assert handle.refresh().failed()
    undos = CompensationRun.objects.filter(run=handle.run_id).order_by("order")
    assert list(undos.values_list("sequence", "level", "status")) == [
        (1, 0, "completed"),
        (0, 0, "completed"),
    ]
    assert sorted(ran[-2:]) == ["undo a a!", "undo b b!"]


def test_wait_all_is_not_hurried_by_a_signal(sent: list[Wake]) -> None:
    """The join honours its policy, whatever wakes the run."""
    handle = started(Trip, ["no a", "b"], WAIT_ALL)
    perform(handle, 0)

    handle.signal("anything", None)
    jobs.drive(str(handle.run_id))

    assert handle.refresh().status is FlowStatus.WAITING
    assert steps(handle.run_id, "status", "closed_by") == [
        ("failed", None),
        ("pending", None),
    ]


@pytest.mark.covers("M-PAR-6")
def test_an_optional_member_gives_up_and_one_with_tries_left_is_waited_for(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    def fail_once() -> None:
        during.clear()
        raise RuntimeError("not yet")

    during["nearly"] = fail_once
    handle = started(Faltering)
    perform(handle, 0)
    perform(handle, 1)
    assert handle.refresh().status is FlowStatus.WAITING

    time.advance(LONG)
    perform(handle, 0)

    assert handle.refresh().output() == ["nearly!", "none"]
    assert steps(handle.run_id, "status", "attempt") == [
        ("completed", 2),
        ("optional_failed", 1),
    ]


# ------------------------------------------------------------------ one decision


def test_what_was_running_when_it_lost_keeps_its_claim_and_is_undone_with_the_run(
    sent: list[Wake],
) -> None:
    handle = started(Race, ["a", "b", "c"])
    # c is in its body while a settles and the block is decided
    during["c"] = lambda: perform(handle, 0)
    perform(handle, 2)

    assert steps(handle.run_id, "status", "closed_by") == [
        ("completed", None),
        ("cancelled", "block"),
        ("completed", "block"),
    ]
    handle.compensate()
    work_off(sent)

    assert handle.refresh().cancelled()
    assert sorted(ran[-2:]) == ["undo a a!", "undo c c!"]


def test_a_decision_stays_whatever_its_losers_come_to(sent: list[Wake]) -> None:
    """A loser with a lower index completes later: the replay decides as before."""
    handle = started(Race, ["a", "b"])
    during["a"] = lambda: perform(handle, 1)
    perform(handle, 0)
    assert steps(handle.run_id, "status", "closed_by") == [
        ("completed", "block"),
        ("completed", None),
    ]

    handle.signal("go", None)
    work_off(sent)

    assert handle.refresh().output() == [1, "b!"]
    assert ran == ["a", "b", "after 1"]


def test_the_failure_that_decided_is_the_one_that_every_replay_raises(
    sent: list[Wake],
) -> None:
    handle = started(Survivor, ["no a", "no b"])
    during["no a"] = lambda: perform(handle, 1)
    perform(handle, 0)
    assert steps(handle.run_id, "status") == ["failed", "failed"]

    handle.signal("go", None)
    work_off(sent)

    assert handle.refresh().output() == "1 no b"


def test_a_loser_gets_no_further_attempt(sent: list[Wake]) -> None:
    handle = started(Race, ["a", "b"])

    def lose_then_fail() -> None:
        perform(handle, 1)
        raise RuntimeError("too late")

    during["a"] = lose_then_fail
    step = ActionRun.objects.get(run=handle.run_id, block_index=0)
    step.options = step.options.replace('"attempts":1', '"attempts":5')
    step.save(update_fields=["options"])
    perform(handle, 0)

    assert steps(handle.run_id, "status", "closed_by", "attempt")[0] == (
        "cancelled",
        "block",
        1,
    )
    jobs.perform(str(step.pk))
    assert ran.count("a") == 1


def test_an_outcome_that_cancels_a_loser_is_found_after_a_commit_of_unknown_result(
    sent: list[Wake],
) -> None:
    """Otherwise it would be recorded again, and listed as refused."""
    handle = started(Race, ["a", "b"])
    loser = ActionRun.objects.get(run=handle.run_id, block_index=0)
    claimed = claims.claim_step(loser.pk, workers.ensure())
    assert claimed is not None
    perform(handle, 1)
    held = Outcome(
        sequence=0,
        name=loser.name,
        attempt=1,
        token=claimed[1].token,
        status=ActionStatus.PENDING,
        available_at=timezone.now(),
        queued=True,
        block=0,
        member=Membership(),
    )

    assert outcomes.record(handle.run_id, held, planning.planner(None)) is False

    loser.refresh_from_db()
    assert loser.status == "cancelled"
    assert outcomes.is_recorded(handle.run_id, held)


def test_a_loser_whose_worker_died_is_not_taken_up(sent: list[Wake]) -> None:
    handle = started(Race, ["a", "b"])
    loser = ActionRun.objects.get(run=handle.run_id, block_index=0)
    assert claims.claim_step(loser.pk, uuid4()) is not None
    perform(handle, 1)

    assert claims.claim_step(loser.pk, workers.ensure()) is None


def test_two_last_members_leave_one_wake(sent: list[Wake]) -> None:
    """The later of two outcomes finds nothing open, whoever committed first."""
    handle = started(Trip, ["a", "b"])
    during["a"] = lambda: perform(handle, 1)

    perform(handle, 0)

    assert handle.refresh().output() == ["a!", "b!"]


# ------------------------------------------------------------------ limits


def test_a_limit_keeps_the_rest_back_and_each_outcome_sends_the_next(
    sent: list[Wake],
) -> None:
    handle = started(Limited, list("abcde"), 2)
    assert [wake.kind for wake in sent[1:]] == [Wanted.PERFORM] * 2
    held_back = ActionRun.objects.filter(run=handle.run_id, available_at__isnull=True)
    assert held_back.count() == 3
    assert claims.claim_step(held_back.latest("sequence").pk, workers.ensure()) is None
    sent.clear()

    perform(handle, 1)

    assert [wake.kind for wake in sent] == [Wanted.PERFORM]
    assert held_back.filter(status="pending").count() == 2
    work_off(sent)
    perform(handle, 0)
    work_off(sent)
    assert handle.refresh().output() == ["a!", "b!", "c!", "d!", "e!"]


def test_a_run_that_was_paused_sends_only_what_may_start(sent: list[Wake]) -> None:
    handle = started(Limited, list("abc"), 1)
    handle.interrupt()
    sent.clear()

    handle.resume()

    assert [wake.kind for wake in sent].count(Wanted.PERFORM) == 1


def test_no_further_member_starts_once_one_has_failed(sent: list[Wake]) -> None:
    handle = started(Limited, ["no", "b", "c"], 1)
    work_off(sent)

    assert handle.refresh().failed()
    assert ran == ["no"]


# ------------------------------------------------------------------ other members


def test_steps_signals_timers_and_blocks_stand_side_by_side(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    handle = started(Mixed)
    work_off(sent)
    handle.signal("approval", "yes")
    work_off(sent)
    run = FlowRun.objects.get(pk=handle.run_id)
    assert (run.status, run.wait_kind) == ("waiting", "block")
    assert run.wake_at == FlowTimer.objects.get(run=run).fire_at

    time.advance(LONG)
    client.drive(handle.run_id)

    assert handle.refresh().output() == ["step!", "yes", None, [0, "a!"]]


def test_a_delivery_from_before_the_block_decides_it_at_once(sent: list[Wake]) -> None:
    handle = Patience.using(instance_id="b1").start()
    handle.signal("approval", "yes")

    work_off(sent)

    assert handle.refresh().output() == [0, "yes"]
    assert FlowTimer.objects.get(run=handle.run_id).status == "cancelled"


def test_time_decides_where_nobody_speaks_and_a_late_word_stays_unread(
    time: clock.FakeClock, sent: list[Wake]
) -> None:
    handle = started(Patience)
    time.advance(LONG)
    client.drive(handle.run_id)

    assert handle.refresh().output() == [1, None]
    assert FlowSignal.objects.get(run=handle.run_id).status == "cancelled"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (3, "asked for action 'blocks.book' at ordinal 2"),
        (1, "the end of a block of 1"),
    ],
)
def test_a_block_of_another_size_is_a_mismatch(
    size: int, words: str, sent: list[Wake], monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = started(Changed)
    work_off(sent)
    monkeypatch.setattr(Changed, "size", size)
    handle.signal("go", None)

    work_off(sent)

    run = FlowRun.objects.get(pk=handle.run_id)
    assert run.status == "interrupted"
    assert words in run.wait_reason


def test_an_open_block_that_grew_is_a_mismatch(
    sent: list[Wake], monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = started(Changed)
    monkeypatch.setattr(Changed, "size", 3)
    handle.signal("go", None)

    jobs.drive(str(handle.run_id))

    run = FlowRun.objects.get(pk=handle.run_id)
    assert run.status == "interrupted"
    assert "member 2 of a block of 3" in run.wait_reason

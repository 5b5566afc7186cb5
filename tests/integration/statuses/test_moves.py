"""
Each write that moves a run, tried from each status: it moves it, or changes nothing.

There is no other way to change a status, so what these writes can do together is
compared with the whole table at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import pytest

from saga_flow import client
from saga_flow.engine import ending, planning
from saga_flow.models import FlowRun
from saga_flow.queries import snapshot
from saga_flow.records import Gathered, Request, StartOrder, Target, Wait
from saga_flow.states import (
    ENDS_NOW,
    FLOW_TRANSITIONS,
    MAY_START_WORK,
    OPEN,
    TERMINAL,
    FlowStatus,
)
from saga_flow.store import (
    claims,
    commands,
    dialect,
    guards,
    history,
    passes,
    rollback,
    starts,
)
from saga_flow.store.command_rows import Command
from saga_flow.store.transaction import Refused
from tests.support.engine_tables import changes, check_journal, dump
from tests.support.standings import claim_on, overdue, run_in, stranger

pytestmark = pytest.mark.django_db

P1: Final = Target(instance_id="p1")
WAIT: Final = Wait(wake_at=None, kind="signal", name="go", reason="waiting")
F: Final = FlowStatus
FLIPS: Final = MAY_START_WORK


def command(type_: str, outcome: str) -> Command:
    return Command(type=type_, target=P1, request=Request(), outcome=outcome)


@dataclass(frozen=True, kw_only=True)
class Move:
    """One write: what it makes of a run in each status that it may start from."""

    do: Callable[[FlowRun], object]
    moves: Mapping[FlowStatus, FlowStatus]
    columns: Callable[[], dict[str, Any]] = dict
    held: bool = True
    stays: frozenset[FlowStatus] = frozenset()
    """Statuses from which it writes without moving: an intent, or a claim."""

    decides: frozenset[FlowStatus] = field(default_factory=frozenset)
    """Of those: where the write is a decision, and so raises the revision."""


def same(target: FlowStatus, *sources: FlowStatus) -> dict[FlowStatus, FlowStatus]:
    return dict.fromkeys(sources, target)


def enter_from_pass(run: FlowRun) -> object:
    claim = claim_on(run)
    return rollback.enter(
        rollback.Ending(
            run=run.pk,
            queue="",
            where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
            closing_as=F.FAILED,
            error='{"type":"Declined"}',
            first=planning.plan(history.steps(run.pk), instance_id="p1", kept=None),
            plan_one=planning.planner(None),
            claim=claim,
            position=1,
        )
    )


def expire(run: FlowRun) -> object:
    if not ending.expire(run.pk):
        raise Refused
    return True


def claimed(claim: object) -> object:
    if claim is None:
        raise Refused
    return claim


def later() -> Any:
    return dialect.read_now() + timedelta(minutes=1)


MOVES: Final[dict[str, Move]] = {
    "claim_pass": Move(
        do=lambda run: claimed(claims.claim_pass(run.pk, stranger())),
        moves=same(F.RUNNING, F.PENDING, F.WAITING),
        stays=frozenset({F.RUNNING}),
        held=False,
    ),
    "claim_rollback": Move(
        do=lambda run: claimed(claims.claim_rollback(run.pk, stranger())),
        moves={},
        stays=frozenset({F.CANCELLING}),
        held=False,
    ),
    "suspend": Move(
        do=lambda run: passes.suspend(claim_on(run), Gathered(), WAIT, 1),
        moves=same(F.WAITING, F.RUNNING),
    ),
    "give_up_slice": Move(
        do=lambda run: passes.give_up_slice(claim_on(run), Gathered(), 1),
        moves=same(F.WAITING, F.RUNNING),
    ),
    "hold_off": Move(
        do=lambda run: passes.hold_off(claim_on(run), Gathered(), "no", later(), 1),
        moves=same(F.WAITING, F.RUNNING),
    ),
    "interrupt_from_pass": Move(
        do=lambda run: passes.interrupt(claim_on(run), Gathered(), "why", 1),
        moves=same(F.INTERRUPTED, F.RUNNING),
    ),
    "complete": Move(
        do=lambda run: passes.complete(claim_on(run), Gathered(), "null", 1),
        moves=same(F.COMPLETED, F.RUNNING),
    ),
    "fail_now": Move(
        do=lambda run: passes.fail_now(claim_on(run), Gathered(), "{}"),
        moves=same(F.FAILED, F.RUNNING),
    ),
    "enter_from_pass": Move(do=enter_from_pass, moves=same(F.CANCELLING, F.RUNNING)),
    "compensate": Move(
        do=lambda _: ending.compensate(
            command("compensate", "compensating"), snapshot(P1)
        ),
        moves=same(F.CANCELLING, *ENDS_NOW),
    ),
    "expire_into_rollback": Move(
        do=expire, moves=same(F.CANCELLING, *ENDS_NOW), columns=overdue
    ),
    "cancel": Move(
        do=lambda _: commands.cancel(command("cancel", "cancelled"), snapshot(P1)),
        moves=same(F.CANCELLED, *ENDS_NOW),
    ),
    "terminate": Move(
        do=lambda _: commands.terminate(
            command("terminate", "terminated"), snapshot(P1)
        ),
        moves=same(F.TERMINATED, *OPEN),
    ),
    "interrupt": Move(
        do=lambda _: commands.interrupt(
            command("interrupt", "interrupted"), snapshot(P1)
        ),
        moves=same(F.INTERRUPTED, F.WAITING),
        stays=frozenset({F.PENDING, F.RUNNING}),
        decides=frozenset({F.PENDING, F.RUNNING}),
    ),
    "resume": Move(
        do=lambda _: commands.resume(command("resume", "resumed"), snapshot(P1), None),
        moves=same(F.WAITING, F.INTERRUPTED),
    ),
    "start_of_a_reservation": Move(
        do=lambda _: _start_reserved(),
        moves=same(F.PENDING, F.RESERVED),
    ),
    **{
        f"close_as_{landing}": Move(
            do=lambda run: rollback.close(claim_on(run)),
            moves=same(landing, F.CANCELLING),
            columns=lambda landing=landing: {"closing_as": landing.value},  # type: ignore[misc]
        )
        for landing in (F.FAILED, F.CANCELLED, F.EXPIRED)
    },
}

UNUSED: Final = {
    (F.PENDING, F.FAILED),
    (F.WAITING, F.COMPLETED),
    (F.WAITING, F.FAILED),
    (F.INTERRUPTED, F.RUNNING),
    (F.INTERRUPTED, F.FAILED),
    # expiring with nothing to undo: below, not in the table of moves
    (F.PENDING, F.EXPIRED),
    (F.RUNNING, F.EXPIRED),
    (F.WAITING, F.EXPIRED),
    (F.INTERRUPTED, F.EXPIRED),
}
"""Legal moves that no write of these makes: others may be given them."""


def _start_reserved() -> object:
    order = StartOrder(
        workflow_name="parcel.delivery", arguments="{}", instance_id="p1"
    )
    try:
        return starts.start(order, command("start", "started_new"))
    except starts.Taken as taken:
        raise Refused from taken


CASES: Final = [
    pytest.param(name, status, id=f"{name}-{status}")
    for name in MOVES
    for status in FlowStatus
]


@pytest.mark.covers("LR-1", "LR-2", "M-RUN-12")
@pytest.mark.parametrize(("name", "source"), CASES)
def test_a_write_moves_a_run_from_where_it_may_and_else_changes_nothing(
    name: str, source: FlowStatus
) -> None:
    move = MOVES[name]
    run = run_in(source, held=move.held, **move.columns())
    before = dump()
    if source not in move.moves and source not in move.stays:
        with pytest.raises(Refused):
            move.do(run)
        assert changes(before, dump()) == {}
        return
    move.do(run)
    after = FlowRun.objects.get(pk=run.pk)
    target = move.moves.get(source, source)
    assert after.status == target
    is_a_decision = source in move.decides or (
        target is not source and not {source, target} <= FLIPS
    )
    assert after.revision - run.revision == int(is_a_decision)
    check_journal(run.pk)
    check_closed(after)


def check_closed(run: FlowRun) -> None:
    """Closed exactly where it is terminal, and then nobody holds it or wakes it."""
    is_closed = run.status in TERMINAL
    assert (run.closed_at is not None) is is_closed
    assert (run.closed_reason is not None) is is_closed
    if is_closed:
        assert (run.lease_owner, run.wake_at, run.intent) == (None, None, None)


def test_the_writes_together_make_the_moves_of_the_table_and_no_other() -> None:
    made = {
        (source, target)
        for move in MOVES.values()
        for source, target in move.moves.items()
    }
    legal = {
        (s, target) for s, targets in FLOW_TRANSITIONS.items() for target in targets
    }
    assert made <= legal
    assert legal - made == UNUSED


@pytest.mark.parametrize("source", sorted(FlowStatus))
def test_expiring_with_nothing_to_undo_closes_at_once(source: FlowStatus) -> None:
    run = run_in(source, **overdue())
    run.steps.all().delete()
    before = dump()
    status = ending.expire(run.pk)
    after = FlowRun.objects.get(pk=run.pk)
    if source in ENDS_NOW:
        assert (after.status, after.closed_reason) == (status, "timed_out")
        assert status is FlowStatus.EXPIRED
        assert after.revision == run.revision + 1
        check_closed(after)
        check_journal(run.pk)
    else:
        assert status is None
        assert changes(before, dump()) == {}


@pytest.mark.parametrize("source", sorted(ENDS_NOW))
def test_a_run_that_is_not_overdue_is_not_expired(source: FlowStatus) -> None:
    run = run_in(source, expires_at=dialect.read_now() + timedelta(hours=1))
    before = dump()
    assert ending.expire(run.pk) is None
    assert changes(before, dump()) == {}


FENCED: Final = [
    "suspend",
    "give_up_slice",
    "hold_off",
    "interrupt_from_pass",
    "complete",
    "fail_now",
    "enter_from_pass",
]


@pytest.mark.parametrize("name", FENCED)
@pytest.mark.parametrize("lost", ["epoch", "owner"])
def test_a_pass_that_lost_its_lease_moves_nothing(name: str, lost: str) -> None:
    """Without the fence a worker that was only asleep overwrites its successor."""
    run = run_in(F.RUNNING)
    if lost == "epoch":
        FlowRun.objects.update(lease_epoch=4)
    else:
        FlowRun.objects.update(lease_owner=stranger())
    before = dump()
    with pytest.raises(Refused):
        MOVES[name].do(run)
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("name", ["suspend", "close_as_failed"])
def test_what_gives_a_run_up_names_the_inbox_that_it_has_read(name: str) -> None:
    """Without it a delivery that came meanwhile is slept over."""
    run = run_in(next(iter(MOVES[name].moves)), **MOVES[name].columns())
    FlowRun.objects.update(inbox=run.inbox + 1)
    before = dump()
    with pytest.raises(Refused):
        MOVES[name].do(run)
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("name", ["suspend", "give_up_slice"])
def test_an_interrupt_asked_for_stops_what_would_go_on(name: str) -> None:
    run = run_in(F.RUNNING, intent="interrupt")
    before = dump()
    with pytest.raises(Refused):
        MOVES[name].do(run)
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("name", ["complete", "fail_now", "enter_from_pass"])
def test_an_end_wins_over_an_interrupt_asked_for(name: str) -> None:
    run = run_in(F.RUNNING, intent="interrupt")
    MOVES[name].do(run)
    after = FlowRun.objects.get(pk=run.pk)
    assert (after.status, after.intent) == (MOVES[name].moves[F.RUNNING], None)


@pytest.mark.parametrize(
    ("name", "status"), [("claim_pass", F.RUNNING), ("claim_rollback", F.CANCELLING)]
)
def test_what_a_live_worker_holds_is_not_claimed(name: str, status: FlowStatus) -> None:
    run = run_in(status)
    before = dump()
    with pytest.raises(Refused):
        MOVES[name].do(run)
    assert changes(before, dump()) == {}


@pytest.mark.parametrize("columns", [overdue, lambda: {"wake_at": later()}])
def test_a_run_that_is_overdue_or_not_due_yet_is_not_claimed(
    columns: Callable[[], dict[str, Any]],
) -> None:
    run = run_in(F.WAITING, **columns())
    before = dump()
    assert claims.claim_pass(run.pk, stranger()) is None
    assert changes(before, dump()) == {}


DECISIONS: Final = {
    "cancel": lambda request: client.cancel(P1, request),
    "terminate": lambda request: client.terminate(P1, request),
    "compensate": lambda request: client.compensate(P1, request),
    "interrupt": lambda request: client.interrupt(P1, request),
}


@pytest.mark.covers("LR-2")
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_on_a_stale_revision_leaves_not_even_its_row(name: str) -> None:
    run_in(F.WAITING, revision=7)
    before = dump()
    answer = DECISIONS[name](Request(expected_revision=6))
    assert answer.outcome == "rejected_conflict"
    assert "stale_revision" in answer.message
    assert changes(before, dump()) == {}


@pytest.mark.covers("LR-2")
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_on_the_present_revision_raises_it_by_one(name: str) -> None:
    run = run_in(F.WAITING, revision=7)
    assert DECISIONS[name](Request(expected_revision=7)).accepted
    assert FlowRun.objects.get(pk=run.pk).revision == 8


@pytest.mark.parametrize("write", ["cancel", "terminate", "compensate", "interrupt"])
def test_a_write_names_the_revision_that_was_decided_on(write: str) -> None:
    """The guard itself, past the look that the client takes before it."""
    run_in(F.WAITING, revision=7)
    request = Request(expected_revision=6)
    asked = Command(type=write, target=P1, request=request, outcome="whatever")
    do: dict[str, Callable[..., object]] = {
        "cancel": commands.cancel,
        "terminate": commands.terminate,
        "interrupt": commands.interrupt,
        "compensate": ending.compensate,
    }
    before = dump()
    with pytest.raises(Refused):
        do[write](asked, snapshot(P1))
    assert changes(before, dump()) == {}


@pytest.mark.covers("LR-8")
@pytest.mark.parametrize("closed", sorted(TERMINAL))
def test_a_closed_run_is_never_moved_again(closed: FlowStatus) -> None:
    for name, move in MOVES.items():
        assert closed not in move.moves, name
        assert closed not in move.stays, name


IDENTITY: Final = (
    "tenant",
    "instance_id",
    "run_number",
    "workflow_name",
    "parent_id",
    "created_at",
    "workflow_version",
    "arguments",
    "contract",
)


@pytest.mark.covers("LR-4", "LR-5")
@pytest.mark.parametrize(
    ("name", "source"),
    [
        pytest.param(name, source, id=f"{name}-{source}")
        for name, move in MOVES.items()
        for source in sorted({*move.moves, *move.stays})
        if name != "start_of_a_reservation"
    ],
)
def test_no_write_touches_identity_or_goes_back(name: str, source: FlowStatus) -> None:
    move = MOVES[name]
    run = run_in(source, held=move.held, started_at=None, **move.columns())
    move.do(run)
    after = FlowRun.objects.get(pk=run.pk)
    assert {n: getattr(after, n) for n in IDENTITY} == {
        n: getattr(run, n) for n in IDENTITY
    }
    for forward in ("history_seq", "position", "inbox", "passes", "lease_epoch"):
        assert getattr(after, forward) >= getattr(run, forward), forward
    assert after.updated_at >= run.updated_at

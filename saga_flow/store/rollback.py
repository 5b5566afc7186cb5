"""Entering a rollback (rows 13–15), parking it (33) and closing it (34)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from saga_flow import conf
from saga_flow.models import ActionRun, FlowRun
from saga_flow.records import (
    Claim,
    Gathered,
    Line,
    Pause,
    UndoPlan,
    Wake,
    Wanted,
)
from saga_flow.serialization.bounded import bounded
from saga_flow.states import (
    ENDS_NOW,
    ActionStatus,
    CompensationState,
    FlowStatus,
)
from saga_flow.store import (
    children,
    command_rows,
    dialect,
    guards,
    hints,
    journal,
    outbox,
    settlement,
    undos,
    unfinished,
    wake,
)
from saga_flow.store.command_rows import Command
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import lines_of, metadata_of, statements_of
from saga_flow.store.sql import RunUpdate, guard, run_statement
from saga_flow.store.transaction import atomic, retried
from saga_flow.store.undos import PlanOne

BEFORE_ALL: Final = 1
"""The level of a rollback that has begun none: they are numbered from 0 downwards."""


class _MoreToUndo(Exception):
    """Closing at once was decided, but the second reading found work to undo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run is ended: who asks, where it lands, and what its first plan is."""

    run: UUID
    queue: str
    where: tuple[Sql, ...]
    closing_as: FlowStatus
    error: str | None
    first: Sequence[UndoPlan]
    plan_one: PlanOne
    parent: UUID | None = None
    claim: Claim | None = None
    """Of the pass whose ``handle()`` raised."""

    gathered: Gathered = field(default_factory=Gathered)
    position: int | None = None
    through_rollback: bool = False
    """Pass through cancelling even with nothing to undo."""

    lines: tuple[Line, ...] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    command: Command | None = None
    """Written first, so that its idempotency key is locked before the run."""

    instance_id: str = ""


def enter(ending: Ending) -> FlowStatus:
    """
    Rows 13–15: begin the rollback of a run, or close it where nothing is to undo.

    Records the outcome in hand first, reads the steps again under the run's lock
    and writes one row per undo. Claims of steps in flight stay intact. Raises
    Refused when the run moved on; then nothing was written. Returns the new status.
    """
    closes = not ending.first and not ending.through_rollback
    if closes:
        try:
            return retried(lambda: _close_at_once(ending))
        except _MoreToUndo:
            pass
    return retried(lambda: _enter(ending))


def _guarded(ending: Ending, sets: Mapping[str, Any], lines: int) -> None:
    """The guard, then the outcome in hand and whatever else the pass gathered."""
    if ending.command is not None:
        command_rows.write(ending.command, ending.run, ending.instance_id)
    guard(
        RunUpdate(
            run=ending.run,
            where=ending.where,
            sets={
                **ending.sets,
                **sets,
                "revision": Sql("revision + 1"),
                "lease_epoch": Sql("lease_epoch + 1"),
                "lease_owner": None,
                "passes": Sql("passes + 1"),
                "history_seq": journal.plus(lines),
                "intent": None,
                "hint_at": None,
                "hints": 0,
                "updated_at": dialect.forward("updated_at"),
                **({} if ending.position is None else {"position": ending.position}),
                **metadata_of(ending.gathered),
            },
        )
    )
    if ending.claim is not None:
        for statement in statements_of(ending.claim, ending.gathered):
            run_statement(ending.run, statement)


def _close_at_once(ending: Ending) -> FlowStatus:
    lines = [*lines_of(ending.gathered), *ending.lines]
    with atomic():
        sets = {**settlement.closed(ending.closing_as), "error": ending.error}
        _guarded(ending, sets, len(lines) + 1)
        plans, _ = undos.planned(ending.run, ending.first, ending.plan_one)
        if plans or _in_flight(ending.run) or undos.unfinished(ending.run):
            raise _MoreToUndo
        settled = settlement.settle(ending.run)
        last = journal.line(f"flow.{ending.closing_as.value}", **settled.as_data())
        _journal(ending.run, [*lines, last])
        children.ended(ending.run, ending.parent)
    return ending.closing_as


def _enter(ending: Ending) -> FlowStatus:
    with atomic():
        # numbers for the journal are allocated before it is known how many lines
        # the second plan adds; the rest is allocated below, under the same lock
        sets = {
            "status": FlowStatus.CANCELLING.value,
            "closing_as": ending.closing_as.value,
            "rollback_level": BEFORE_ALL,
            "error": ending.error,
            "wake_at": dialect.now(),
            "wait_kind": "rollback",
            "wait_name": "",
            "wait_reason": f"rolling back; will end as {ending.closing_as.value}",
        }
        _guarded(ending, sets, 0)
        plans, told = undos.planned(ending.run, ending.first, ending.plan_one)
        earlier = undos.planned_so_far(ending.run)
        undos.insert(ending.run, plans, first=earlier)
        in_flight = _in_flight(ending.run)
        started = journal.line(
            "rollback.started",
            closing_as=ending.closing_as.value,
            undos=len(plans),
            in_flight=in_flight,
        )
        lines = [*lines_of(ending.gathered), *ending.lines, started, *told]
        if ending.command is not None:
            command_rows.number(ending.command, ending.run)
        _more(ending.run, len(lines), _planned(len(plans), earlier, len(in_flight)))
        _journal(ending.run, lines)
        outbox.send(Wake(kind=Wanted.DRIVE, id=str(ending.run), queue=ending.queue))
    return FlowStatus.CANCELLING


def _planned(plans: int, earlier: int, in_flight: int) -> dict[str, Any]:
    sets: dict[str, Any] = {"drain_until": None}
    if plans or not earlier:
        state = CompensationState.PENDING if plans else CompensationState.NONE
        sets["compensation_state"] = state.value
    if in_flight:
        sets["drain_until"] = dialect.read_now() + conf.get().DRAIN_LIMIT
    return sets


def _more(run: UUID, lines: int, sets: Mapping[str, Any]) -> None:
    """More of the run row, in a transaction that already holds its lock."""
    guard(
        RunUpdate(
            run=run,
            where=(guards.ANY,),
            sets={**sets, "history_seq": journal.plus(lines)},
        )
    )


def _journal(run: UUID, lines: Sequence[Line]) -> None:
    for statement in journal.insert(run, lines):
        run_statement(run, statement)


def _in_flight(run: UUID) -> list[int]:
    """Ordinals of steps that a worker has claimed and not settled."""
    steps = ActionRun.objects.using(dialect.alias()).filter(
        run_id=run, status=ActionStatus.RUNNING
    )
    return list(steps.values_list("sequence", flat=True))


FIRST_HOLD: Final = timedelta(seconds=5)
LONGEST_HOLD: Final = timedelta(minutes=5)


def hold_window(holds: int) -> timedelta:
    """How long a run that was held off *holds* times before is held off now."""
    window: timedelta = FIRST_HOLD * 2 ** min(holds, 10)
    return min(window, LONGEST_HOLD)


def hold_off(run: UUID, error: str) -> None:
    """
    An overdue run that can't be planned here: only its hold-off columns change.

    The window doubles each time, so that it never sits at the head of a batch.
    """
    rows = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    holds = rows.values_list("holds", flat=True).first() or 0
    rows.filter(status__in=ENDS_NOW, holds=holds).update(
        holds=holds + 1,
        hold_until=dialect.read_now() + hold_window(holds),
        last_error=bounded(error, 1024),
    )


def park(claim: Claim, pause: Pause) -> None:
    """
    Row 33: give the rollback up until its pause is over, or something arrives.

    With a level, that is the one that is undone now, by a job for each of its undos
    that is due; one that has a job in the queue gets no second one for a while.
    Raises Refused when the inbox moved: then the driver reads the plan again.
    """
    retried(lambda: _park(claim, pause))


def _park(claim: Claim, pause: Pause) -> None:
    sets: dict[str, Any] = {
        "lease_owner": None,
        "wake_at": dialect.now() if pause.until is None else pause.until,
        "hint_at": None,
        "wait_reason": bounded(pause.reason, 512),
        "passes": Sql("passes + 1"),
        "updated_at": dialect.forward("updated_at"),
    }
    if pause.until is None:
        sets.update(hints.sent())
    if pause.level is not None:
        sets["rollback_level"] = pause.level
    with atomic():
        guard(RunUpdate(run=claim.run, where=_mine(claim), sets=sets))
        if pause.until is None:
            outbox.send(Wake(kind=Wanted.DRIVE, id=str(claim.run), queue=claim.queue))
        if pause.level is not None:
            for undo in wake.hint_undos(claim.run, pause.level):
                outbox.send(Wake(kind=Wanted.UNDO, id=str(undo), queue=claim.queue))


def give_back(claim: Claim) -> None:
    """Leave the rollback to whoever comes next, at once. Raises Refused."""

    def attempt() -> None:
        with atomic():
            guard(
                RunUpdate(
                    run=claim.run,
                    where=(guards.CANCELLING, guards.leased(claim.owner, claim.epoch)),
                    sets={"lease_owner": None, "wake_at": dialect.now()},
                )
            )
            outbox.send(Wake(kind=Wanted.DRIVE, id=str(claim.run), queue=claim.queue))

    retried(attempt)


def close(claim: Claim) -> FlowStatus:
    """
    Row 34: the rollback is over; land where it was decided to land.

    Names the inbox that the driver read, so that a completion that came since is
    undone first. What stays undone is kept on the error. Raises Refused.
    """
    return retried(lambda: _close(claim))


def _close(claim: Claim) -> FlowStatus:
    landing = claim.closing_as or FlowStatus.FAILED
    with atomic():
        guard(
            RunUpdate(
                run=claim.run,
                where=_mine(claim),
                sets={
                    **settlement.closed(landing),
                    "passes": Sql("passes + 1"),
                    "history_seq": journal.plus(1),
                    "updated_at": dialect.forward("updated_at"),
                },
            )
        )
        settled = settlement.settle(claim.run)
        unfinished.note(claim.run, bump=False)
        state = undos.state_of(claim.run)
        data = dict(settled.as_data())
        data["compensation_state"] = state.value
        _journal(claim.run, [journal.line(f"flow.{landing.value}", **data)])
        children.ended(claim.run, claim.parent)
    return landing


def _mine(claim: Claim) -> tuple[Sql, ...]:
    return (
        guards.CANCELLING,
        guards.leased(claim.owner, claim.epoch),
        guards.inbox_is(claim.inbox),
    )

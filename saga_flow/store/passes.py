"""
What a pass writes: each commit carries the outcome in hand (rows 5, 8–11, 25).

All of them are one shape: a guard on the run row, then :func:`gathered`, what the
pass has decided since its last commit, then what the row adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from saga_flow.models import ActionRun
from saga_flow.records import (
    Claim,
    Gathered,
    NewStep,
    Try,
    Wait,
    Wake,
    Wanted,
)
from saga_flow.serialization.bounded import bounded
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import (
    children,
    dialect,
    guards,
    hints,
    journal,
    outbox,
    settlement,
)
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import (
    another_attempt,
    lines_of,
    metadata_of,
    new_markers,
    new_steps,
    statements_of,
    waiting_lines,
)
from saga_flow.store.sql import (
    RunUpdate,
    Statement,
    apply,
    apply_at_once,
    run_statement,
)
from saga_flow.store.transaction import atomic, retried

LONGEST_BREAK: Final = 300
"""Seconds at most until a run whose pass was broken off is tried again."""

LAST_ERROR_BYTES: Final = 1024


def commit_step(
    claim: Claim, gathered: Gathered, step: NewStep | None, position: int
) -> None:
    """
    Row 5: record the outcome in hand and start *step*, in one commit.

    Without *step* it records only what was gathered, so that a pass may wait out a
    short delay with nothing in hand. Raises Refused when the lease is gone or an
    interrupt is asked for, ClaimLost when the attempt was settled from outside.
    """
    lines = lines_of(gathered)
    statements = statements_of(claim, gathered)
    if step is not None:
        statements.extend(new_steps(claim, (step,)))
        started = step.status is ActionStatus.RUNNING
        kind = "action.started" if started else "compensation.added"
        lines.append(journal.line(kind, step.sequence, name=step.call.name))
    statements.extend(journal.insert(claim.run, lines))
    update = RunUpdate(
        run=claim.run,
        where=at_work(claim),
        sets=run_sets(gathered, len(lines), position),
    )
    _commit(update, statements, by_key=_is_by_key(gathered))


def reclaim_step(claim: Claim, gathered: Gathered, step: Try, position: int) -> None:
    """
    Row 25: begin another attempt of an inline step.

    Either its retry delay is over, or a worker died in its body: then that attempt
    is kept as lost. Raises ClaimLost when the old owner's outcome came first.
    """
    lines = lines_of(gathered)
    lines.append(
        journal.line(
            "action.started", step.sequence, name=step.name, attempt=step.attempt + 1
        )
    )
    statements = statements_of(claim, gathered)
    statements.extend(another_attempt(claim, step))
    statements.extend(journal.insert(claim.run, lines))
    update = RunUpdate(
        run=claim.run,
        where=at_work(claim),
        sets=run_sets(gathered, len(lines), position),
    )
    _commit(update, statements)


def suspend(claim: Claim, gathered: Gathered, wait: Wait, position: int) -> None:
    """
    Row 8: give the run up until something durable happens.

    Refused when the inbox moved since history was read: then the pass reloads and
    goes on, so that no wake-up is lost.
    """
    lines = [*lines_of(gathered), *waiting_lines(gathered)]
    statements = statements_of(claim, gathered)
    if gathered.markers:
        statements.append(new_markers(claim, gathered))
    if gathered.steps:
        statements.extend(new_steps(claim, gathered.steps))
    statements.extend(journal.insert(claim.run, lines))
    update = RunUpdate(
        run=claim.run,
        where=(*at_work(claim), guards.inbox_is(claim.inbox)),
        sets={
            **run_sets(gathered, len(lines), position),
            "status": FlowStatus.WAITING.value,
            "lease_owner": None,
            "wake_at": dialect.now() if wait.at_once else wait.wake_at,
            "wait_kind": wait.kind,
            "wait_name": wait.name,
            "wait_reason": wait.reason,
            "hint_at": None,
            "repairs": 0,
            "holds": 0,
        },
    )
    _commit(update, statements, wakes=lambda: _wakes(claim, gathered, wait))


def give_up_slice(claim: Claim, gathered: Gathered, position: int | None) -> None:
    """Row 10: let other runs have the worker; this one goes on at once elsewhere."""
    lines = lines_of(gathered)
    statements = [*statements_of(claim, gathered), *journal.insert(claim.run, lines)]
    update = RunUpdate(
        run=claim.run,
        where=at_work(claim),
        sets={
            **run_sets(gathered, len(lines), position),
            "status": FlowStatus.WAITING.value,
            "lease_owner": None,
            "wake_at": dialect.now(),
            "wait_kind": "slice",
            "wait_name": "",
            "wait_reason": "gave other runs a turn; goes on by itself",
            **hints.sent(),
        },
    )
    _commit(update, statements, wakes=lambda: [drive(claim)])


def break_off(claim: Claim, error: str) -> None:
    """
    Give up a pass that something broke; somebody goes on from what is committed.

    Due again at once for the first time, then after windows that double, so that a
    run that breaks every pass does not keep a cluster busy. A suspension resets it.
    """
    again = min(2 ** min(claim.repairs, 10) - 1, LONGEST_BREAK)
    update = RunUpdate(
        run=claim.run,
        where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
        sets={
            "status": FlowStatus.WAITING.value,
            "lease_owner": None,
            "wake_at": dialect.read_now() + timedelta(seconds=again),
            "repairs": claim.repairs + 1,
            "last_error": bounded(error, LAST_ERROR_BYTES),
            "wait_kind": "repair",
            "wait_name": "",
            "wait_reason": "its last pass was broken off; goes on by itself",
            "hint_at": None,
            "updated_at": dialect.forward("updated_at"),
        },
    )
    wakes = () if again else (drive(claim),)
    _commit(update, (), wakes=lambda: wakes)


def hold_off(
    claim: Claim,
    gathered: Gathered,
    last_error: str,
    until: datetime,
    position: int,
) -> None:
    """Give the run back to waiting, unplannable for now, until *until*."""
    lines = [*lines_of(gathered), journal.line("rollback.held_off", error=last_error)]
    statements = [*statements_of(claim, gathered), *journal.insert(claim.run, lines)]
    update = RunUpdate(
        run=claim.run,
        where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
        sets={
            **run_sets(gathered, len(lines), position),
            "status": FlowStatus.WAITING.value,
            "lease_owner": None,
            "wake_at": until,
            "hold_until": until,
            "holds": Sql("holds + 1"),
            "last_error": last_error,
            "wait_kind": "hold",
            "wait_name": "",
            "wait_reason": "its rollback can't be planned in this build",
        },
    )
    _commit(update, statements)


def interrupt(
    claim: Claim, gathered: Gathered, reason: str, position: int | None
) -> None:
    """Row 9: pause until somebody resumes the run; *reason* says why."""
    lines = [*lines_of(gathered), journal.line("flow.interrupted", reason=reason)]
    statements = [*statements_of(claim, gathered), *journal.insert(claim.run, lines)]
    update = RunUpdate(
        run=claim.run,
        where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
        sets={
            **run_sets(gathered, len(lines), position),
            "status": FlowStatus.INTERRUPTED.value,
            "revision": Sql("revision + 1"),
            "lease_owner": None,
            "wake_at": None,
            "intent": None,
            "wait_kind": "resume",
            "wait_name": "",
            "wait_reason": reason,
        },
    )
    _commit(update, statements)


def complete(claim: Claim, gathered: Gathered, result: str, position: int) -> None:
    """Row 11: ``handle()`` returned. Completion wins over an interrupt in hand."""
    extra = {"result": result, "position": position}
    _close(claim, gathered, FlowStatus.COMPLETED, extra)


def fail_now(claim: Claim, gathered: Gathered, error: str) -> None:
    """Row 13, nothing to undo (or a definite failure): closed as failed at once."""
    _close(claim, gathered, FlowStatus.FAILED, {"error": error})


def _close(
    claim: Claim, gathered: Gathered, status: FlowStatus, extra: Mapping[str, Any]
) -> None:
    lines = lines_of(gathered)

    def attempt() -> None:
        with atomic():
            sets = {
                **run_sets(gathered, len(lines) + 1, None),
                **extra,
                **settlement.closed(status),
            }
            update = RunUpdate(
                run=claim.run,
                where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
                sets=sets,
            )
            apply(update, statements_of(claim, gathered))
            counts = settlement.settle(claim.run)
            last = journal.line(f"flow.{status.value}", **counts.as_data())
            for statement in journal.insert(claim.run, [*lines, last]):
                run_statement(claim.run, statement)
            children.ended(claim.run, claim.parent)

    retried(attempt)


def drive(claim: Claim) -> Wake:
    """A hint to go on with the claimed run."""
    return Wake(kind=Wanted.DRIVE, id=str(claim.run), queue=claim.queue)


def at_work(claim: Claim) -> tuple[Sql, ...]:
    """The guard of a pass that goes on: its lease, and nobody asks it to pause."""
    return (
        guards.RUNNING,
        guards.leased(claim.owner, claim.epoch),
        guards.NO_INTENT,
    )


def _wakes(claim: Claim, gathered: Gathered, wait: Wait) -> Iterable[Wake]:
    if wait.at_once:
        yield drive(claim)
    yield from children.start(claim, gathered.children)
    if not gathered.steps:
        return
    first = gathered.steps[0].sequence
    scheduled = ActionRun.objects.using(dialect.alias()).filter(
        run_id=claim.run, sequence__gte=first, available_at__isnull=False
    )
    for pk, queue in scheduled.values_list("pk", "queue"):
        yield Wake(kind=Wanted.PERFORM, id=str(pk), queue=queue or claim.queue)


def _commit(
    update: RunUpdate,
    statements: Sequence[Statement],
    *,
    by_key: bool = False,
    wakes: Callable[[], Iterable[Wake]] = tuple,
) -> None:
    if by_key and dialect.vendor() == "postgresql":
        retried(lambda: apply_at_once(update, statements))
        return

    def attempt() -> None:
        with atomic():
            apply(update, statements)
            for wake in wakes():
                outbox.send(wake)

    retried(attempt)


def _is_by_key(gathered: Gathered) -> bool:
    """Whether each row is addressed once, so that one statement may write it all."""
    return not (gathered.taken or gathered.tags or gathered.gave_up or gathered.losers)


def run_sets(gathered: Gathered, lines: int, position: int | None) -> dict[str, Any]:
    """What each commit of a pass sets on the run's row."""
    sets: dict[str, Any] = {
        "history_seq": journal.plus(lines),
        "passes": Sql("passes + 1"),
        "updated_at": dialect.forward("updated_at"),
    }
    if position is not None:
        sets["position"] = position
    return sets | metadata_of(gathered)

"""Doing the undos of a rollback: one try started (row 31), one settled (row 32)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from saga_flow.models import ActionAttempt, CompensationRun, FlowRun
from saga_flow.records import Claim, Outcome, UndoFacts, Wake, Wanted
from saga_flow.states import (
    TERMINAL,
    CompensationState,
    CompensationStatus,
    FlowStatus,
)
from saga_flow.store import dialect, guards, history, journal, outbox, unfinished
from saga_flow.store.claims import new_token
from saga_flow.store.dialect import Sql
from saga_flow.store.joint import nobody_writes
from saga_flow.store.sql import RunUpdate, Update, guard, run_statement
from saga_flow.store.transaction import Refused, atomic, retried
from saga_flow.store.undos import tell


def start(claim: Claim, undo: UndoFacts) -> UndoFacts:
    """
    Row 31: the rollback's driver begins one try of *undo*.

    Raises Refused when the rollback was ended or taken over.
    """
    token = new_token()

    def attempt() -> UndoFacts:
        with atomic():
            guard(_begin_guard(claim, undo))
            run_statement(claim.run, _begin(undo, claim.owner, token))
            line = journal.line(
                "compensation.started",
                undo.sequence,
                name=undo.name,
                attempt=undo.attempt + 1,
            )
            for statement in journal.insert(claim.run, (line,)):
                run_statement(claim.run, statement)
            return history.undo(undo.id)

    return retried(attempt)


def _begin_guard(claim: Claim, undo: UndoFacts) -> RunUpdate:
    pending = f"compensation_state = '{CompensationState.PENDING.value}'"
    return RunUpdate(
        run=claim.run,
        where=(guards.CANCELLING, guards.leased(claim.owner, claim.epoch)),
        sets={
            "revision": Sql(f"CASE WHEN {pending} THEN revision + 1 ELSE revision END"),
            "compensation_state": CompensationState.RUNNING.value,
            "rollback_level": undo.level,
            "passes": Sql("passes + 1"),
            "history_seq": journal.plus(1),
            "updated_at": dialect.forward("updated_at"),
        },
    )


def _begin(undo: UndoFacts, owner: UUID, token: int) -> Update:
    lost = undo.status is CompensationStatus.RUNNING
    return Update(
        model=CompensationRun,
        sets={
            "status": CompensationStatus.RUNNING.value,
            "attempt": undo.attempt + 1,
            "lost_attempts": undo.lost_attempts + (1 if lost else 0),
            "token": token,
            "worker": owner,
            "available_at": None,
            "started_at": dialect.now(),
        },
        where={
            "id": undo.id,
            "status": undo.status.value,
            "attempt": undo.attempt,
            "token": undo.token,
        },
    )


_SETTLED_LINE: Final = {
    CompensationStatus.COMPLETED: "compensation.completed",
    CompensationStatus.FAILED: "compensation.failed",
    CompensationStatus.PENDING: "compensation.attempt_failed",
}


def settle(run: UUID, undo: UndoFacts, outcome: Outcome) -> bool:
    """
    Row 32: record what became of one try, whatever the run's status is by now.

    Returns False when another try has superseded this one; that is journalled.
    """
    status = CompensationStatus(outcome.status.value)
    try:
        retried(lambda: _settle(run, undo, outcome, status))
    except Refused:
        _reject(run, undo, outcome)
        return False
    return True


def record(run: UUID, undo: UndoFacts, outcome: Outcome) -> None:
    """
    Row 32 in the transaction of the undo's body.

    Raises Refused when another try has superseded this one.
    """
    _settle(run, undo, outcome, CompensationStatus(outcome.status.value))


def stands(run: UUID, undo: UndoFacts, outcome: Outcome) -> bool:
    """Whether *outcome* is recorded, once nobody can be at it any more."""
    with nobody_writes(run):
        return is_settled(undo, outcome)


def is_settled(undo: UndoFacts, outcome: Outcome) -> bool:
    """Whether *outcome* stands, as nobody but this try can have written it."""
    rows = CompensationRun.objects.using(dialect.alias()).filter(pk=undo.id)
    status = CompensationStatus(outcome.status.value)
    return rows.filter(attempt=undo.attempt, token=undo.token, status=status).exists()


def _settle(
    run: UUID, undo: UndoFacts, outcome: Outcome, status: CompensationStatus
) -> None:
    now = dialect.now()
    with atomic():
        guard(
            RunUpdate(
                run=run,
                where=(guards.ANY,),
                sets={
                    "wake_at": Sql(
                        f"CASE WHEN status = '{FlowStatus.CANCELLING.value}'"
                        f" THEN {now.text} ELSE wake_at END",
                        now.parameters,
                    ),
                    "history_seq": journal.plus(1),
                    "inbox": Sql("inbox + 1"),
                    "updated_at": dialect.forward("updated_at"),
                },
            )
        )
        run_statement(run, _outcome_update(undo, outcome, status))
        if status is not CompensationStatus.COMPLETED:
            _keep_attempt(run, undo, outcome)
        data: dict[str, Any] = {"name": undo.name, "attempt": undo.attempt}
        if outcome.message:
            data["error"] = outcome.message
        line = journal.line(_SETTLED_LINE[status], undo.sequence, **data)
        for statement in journal.insert(run, (line,)):
            run_statement(run, statement)
        _after(run)


def _outcome_update(
    undo: UndoFacts, outcome: Outcome, status: CompensationStatus
) -> Update:
    owed = status is CompensationStatus.PENDING
    return Update(
        model=CompensationRun,
        sets={
            "status": status.value,
            "error": outcome.error,
            "available_at": outcome.available_at,
            "worker": None,
            "closed_at": None if owed else dialect.now(),
        },
        where={
            "id": undo.id,
            "status": CompensationStatus.RUNNING.value,
            "attempt": undo.attempt,
            "token": undo.token,
        },
    )


def _keep_attempt(run: UUID, undo: UndoFacts, outcome: Outcome) -> None:
    ActionAttempt.objects.using(dialect.alias()).create(
        run_id=run,
        sequence=undo.sequence,
        attempt=undo.attempt,
        undo=True,
        outcome="failed",
        error=outcome.error,
        started_at=outcome.started_at,
        closed_at=dialect.read_now(),
    )


def _after(run: UUID) -> None:
    """Under a rollback: a hint if nobody drives it. On a closed run: its new state."""
    row = FlowRun.objects.using(dialect.alias()).get(pk=run)
    if row.status == FlowStatus.CANCELLING:
        if row.lease_owner is None:
            outbox.send(Wake(kind=Wanted.DRIVE, id=str(run), queue=row.queue))
    elif row.status in TERMINAL:
        unfinished.note(run, bump=True)


def _reject(run: UUID, undo: UndoFacts, outcome: Outcome) -> None:
    line = journal.line(
        "compensation.outcome_rejected",
        undo.sequence,
        name=undo.name,
        attempt=undo.attempt,
        status=outcome.status.value,
    )

    def attempt() -> None:
        with atomic():
            tell(run, line)

    try:
        retried(attempt)
    except Refused:
        return

"""Doing the undos of a rollback: one try started (row 31), one settled (row 32)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Q

from saga_flow.models import ActionAttempt, CompensationRun, FlowRun
from saga_flow.records import Claim, Limit, Outcome, UndoFacts
from saga_flow.states import (
    TERMINAL,
    UNFINISHED_UNDO,
    CompensationState,
    CompensationStatus,
    FlowStatus,
)
from saga_flow.store import dialect, guards, history, journal, limits, unfinished, wake
from saga_flow.store.claims import new_token
from saga_flow.store.dialect import Sql
from saga_flow.store.joint import nobody_writes
from saga_flow.store.options import load_rule
from saga_flow.store.sql import RunUpdate, Update, guard, run_statement
from saga_flow.store.transaction import Refused, atomic, in_test_case, retried
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
            run_statement(claim.run, begin(undo, claim.owner, token))
            _tell_begun(claim.run, undo)
            return history.undo(undo.id)

    return retried(attempt)


def _begin_guard(claim: Claim, undo: UndoFacts) -> RunUpdate:
    return RunUpdate(
        run=claim.run,
        where=(guards.CANCELLING, guards.leased(claim.owner, claim.epoch)),
        sets={
            **_begun(),
            "rollback_level": undo.level,
            "passes": Sql("passes + 1"),
        },
    )


def _begun() -> dict[str, Any]:
    pending = f"compensation_state = '{CompensationState.PENDING.value}'"
    return {
        "revision": Sql(f"CASE WHEN {pending} THEN revision + 1 ELSE revision END"),
        "compensation_state": CompensationState.RUNNING.value,
        "history_seq": journal.plus(1),
        "updated_at": dialect.forward("updated_at"),
    }


def take(run: UUID, undo: UndoFacts, owner: UUID) -> UndoFacts | None:
    """
    Row 31: a job begins one try of *undo*, whose level has several.

    Only under a rollback that is at this level. Returns the undo as taken, or None
    for a stale hint.
    """
    token = new_token()
    try:
        return retried(lambda: _take(run, undo, owner, token))
    except Refused:
        return None
    except DatabaseError:
        if in_test_case():
            raise
        # a commit of unknown result: nobody else can have written this token
        dialect.connection().close_if_unusable_or_obsolete()
        found = history.undo(undo.id)
        if found.token != token:
            raise
        return found


def _take(run: UUID, undo: UndoFacts, owner: UUID, token: int) -> UndoFacts:
    at_its_level = Sql("rollback_level = %s", (undo.level,))
    with atomic():
        guard(
            RunUpdate(run=run, where=(guards.CANCELLING, at_its_level), sets=_begun())
        )
        before = history.undo(undo.id)
        if not wake.may_take_undo(undo.id):
            raise Refused
        run_statement(run, begin(before, owner, token))
        _tell_begun(run, before)
        return history.undo(undo.id)


def _tell_begun(run: UUID, undo: UndoFacts) -> None:
    line = journal.line(
        "compensation.started",
        undo.sequence,
        name=undo.name,
        attempt=undo.attempt + 1,
    )
    for statement in journal.insert(run, (line,)):
        run_statement(run, statement)


def begin(undo: UndoFacts, owner: UUID, token: int) -> Update:
    """The undo's row as its next try begins, under the claim that was read."""
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
            "repairs": 0,
            "repair_at": None,
            "started_at": dialect.now(),
            "deadline_at": dialect.later(load_rule(undo.options).timeout),
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
    try:
        retried(lambda: _settle(run, undo, outcome, woken=True))
    except Refused:
        _reject(run, undo, outcome)
        return False
    return True


def settle_beside(run: UUID, undo: UndoFacts, outcome: Outcome, *, here: bool) -> bool:
    """
    Row 32, of an undo whose level has several.

    The rollback goes on once nothing of its level is under way any more; what is
    owed another try before that is found when its driver looks again. *here*:
    whoever calls then drives it, so that no job is sent. Returns whether it goes on.
    """
    try:
        return retried(lambda: record_beside(run, undo, outcome, here=here))
    except Refused:
        _reject(run, undo, outcome)
        return False


def record(run: UUID, undo: UndoFacts, outcome: Outcome) -> None:
    """
    Row 32 in the transaction of the undo's body.

    Raises Refused when another try has superseded this one.
    """
    _settle(run, undo, outcome, woken=True)


def record_beside(run: UUID, undo: UndoFacts, outcome: Outcome, *, here: bool) -> bool:
    """The same for an undo whose level has several; see :func:`settle_beside`."""
    with atomic():
        _settle(run, undo, outcome, woken=False)
        # under the run's lock, so that of the last two one sees the other
        goes_on = not _is_under_way(run, undo.level)
        if goes_on:
            guard(RunUpdate(run=run, where=(guards.ANY,), sets=_wake_at()))
            if not here and wake.lock_run(run, status=FlowStatus.CANCELLING):
                wake.send_drive(run)
    return goes_on


def stands(run: UUID, undo: UndoFacts, outcome: Outcome) -> bool:
    """Whether *outcome* is recorded, once nobody can be at it any more."""
    with nobody_writes(run):
        return is_settled(undo, outcome)


def enforce(run: UUID, undo: UndoFacts, outcome: Outcome) -> bool:
    """Row 29 for an undo over its timeout; False: it ended, or the rollback did."""
    try:
        retried(lambda: _settle(run, undo, outcome, woken=True, over=True))
    except Refused:
        return False
    return True


def is_settled(undo: UndoFacts, outcome: Outcome) -> bool:
    """Whether *outcome* stands, as nobody but this try can have written it."""
    rows = CompensationRun.objects.using(dialect.alias()).filter(pk=undo.id)
    status = CompensationStatus(outcome.status.value)
    return rows.filter(attempt=undo.attempt, token=undo.token, status=status).exists()


def _settle(
    run: UUID, undo: UndoFacts, outcome: Outcome, *, woken: bool, over: bool = False
) -> None:
    still = (limits.passed(Limit.TIMEOUT),) if over else ()
    with atomic():
        guard(
            RunUpdate(
                run=run,
                where=(guards.CANCELLING if over else guards.ANY,),
                sets={
                    **(_wake_at() if woken else {}),
                    "history_seq": journal.plus(1),
                    "inbox": Sql("inbox + 1"),
                    "updated_at": dialect.forward("updated_at"),
                    **(_shut_out(undo) if over else {}),
                },
            )
        )
        _record(run, undo, outcome, still)
        _after(run, sends=woken)


def _is_under_way(run: UUID, level: int) -> bool:
    """Whether an undo of *level* is being done, or has a job in the queue."""
    rows = wake.undos().filter(run=run, level=level, status__in=UNFINISHED_UNDO)
    sent = Q(repair_at__isnull=False)
    return rows.filter(sent | Q(status=CompensationStatus.RUNNING)).exists()


def _wake_at() -> dict[str, Any]:
    now = dialect.now()
    rolling_back = f"status = '{FlowStatus.CANCELLING.value}'"
    return {
        "wake_at": Sql(
            f"CASE WHEN {rolling_back} THEN {now.text} ELSE wake_at END",
            now.parameters,
        )
    }


def _record(
    run: UUID, undo: UndoFacts, outcome: Outcome, still: tuple[Sql, ...]
) -> None:
    status = CompensationStatus(outcome.status.value)
    settled = _outcome_update(undo, outcome, status)
    run_statement(run, replace(settled, conditions=still))
    if status is not CompensationStatus.COMPLETED:
        _keep_attempt(run, undo, outcome)
    data: dict[str, Any] = {"name": undo.name, "attempt": undo.attempt}
    if outcome.message:
        data["error"] = outcome.message
    line = journal.line(_SETTLED_LINE[status], undo.sequence, **data)
    for statement in journal.insert(run, (line,)):
        run_statement(run, statement)


def _shut_out(undo: UndoFacts) -> dict[str, Any]:
    """Take the lease from the driver that is in this undo. The epoch first."""
    mine, owner = "CASE WHEN lease_owner = %s THEN", (undo.worker,)
    return {
        "lease_epoch": Sql(f"{mine} lease_epoch + 1 ELSE lease_epoch END", owner),
        "lease_owner": Sql(f"{mine} NULL ELSE lease_owner END", owner),
    }


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


def _after(run: UUID, *, sends: bool) -> None:
    """Under a rollback: a hint if nobody drives it. On a closed run: its new state."""
    row = FlowRun.objects.using(dialect.alias()).get(pk=run)
    if row.status == FlowStatus.CANCELLING:
        if sends and row.lease_owner is None:
            wake.send_drive(run)
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

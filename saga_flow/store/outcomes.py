"""Outcomes that no pass carries: recorded alone (row 6), or refused (row 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from saga_flow.models import ActionRun, FlowRun
from saga_flow.records import Claim, Limit, Outcome, StepFacts, Wake, Wanted
from saga_flow.states import MAY_START_WORK, OPEN, ActionStatus, FlowStatus
from saga_flow.store import (
    blocks,
    dialect,
    guards,
    history,
    journal,
    limits,
    outbox,
    undos,
)
from saga_flow.store.database_time import Now
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import (
    attempt_row,
    failed_attempt,
    outcome_line,
    outcome_update,
)
from saga_flow.store.joint import nobody_writes
from saga_flow.store.sql import (
    RunUpdate,
    Statement,
    apply,
    apply_at_once,
    guard,
    literal,
    run_statement,
)
from saga_flow.store.transaction import Refused, atomic, retried
from saga_flow.store.undos import PlanOne

_WOKEN: Final = OPEN - {FlowStatus.PENDING, FlowStatus.INTERRUPTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """On which conditions an outcome is recorded, and what else it does to the run."""

    where: Sql = guards.IS_OPEN
    sets: Mapping[str, Any] = field(default_factory=dict)
    still: tuple[Sql, ...] = ()
    """What must hold of the step beside its claim."""


_ALONE: Final = _Terms()
_WITH_ITS_BODY: Final = _Terms(where=guards.MSW)


def record(
    run: UUID, held: Outcome, plan_one: PlanOne, *, here: bool = False
) -> bool | None:
    """
    Row 6: record *held* under its own claim, whoever drives the run now.

    *here*: whoever calls drives the run afterwards, so that no job is sent for it.

    Returns whether the run may go on now, or None if it was refused. That is when
    the run is closed, or the attempt was settled or superseded: then it is journalled
    (row 7), and a success is listed as needing attention.
    """
    try:
        return retried(lambda: _record(run, held, plan_one, here=here))
    except Refused:
        refuse(run, held)
        return None


def _record(
    run: UUID,
    held: Outcome,
    plan_one: PlanOne,
    *,
    here: bool,
    terms: _Terms = _ALONE,
) -> bool:
    now, at_once = dialect.now(), held.member is None and _settles(held)
    woken = literal(_WOKEN if at_once else {FlowStatus.CANCELLING})
    with atomic():
        update = RunUpdate(
            run=run,
            where=(terms.where,),
            sets={
                "wake_at": Sql(
                    f"CASE WHEN status IN ({woken}) THEN {now.text} ELSE wake_at END",
                    now.parameters,
                ),
                "history_seq": journal.plus(1),
                "inbox": Sql("inbox + 1"),
                "updated_at": dialect.forward("updated_at"),
                **terms.sets,
            },
        )
        settled = outcome_update(run, held, *terms.still)
        apply(update, [settled, *failed_attempt(run, held)])
        for statement in journal.insert(run, (outcome_line(held),)):
            run_statement(run, statement)
        status, queue, is_free = _standing(run)
        if status is FlowStatus.CANCELLING and held.has_undo:
            undos.extend(run, history.step(run, held.sequence), plan_one)
        if status is not FlowStatus.CANCELLING:
            if not _settles(held):
                _try_again(run, held, queue)
                return False
            if held.member is not None and not _join(run, held, status, queue):
                return False
        if is_free and status in _WOKEN and not here:
            outbox.send(Wake(kind=Wanted.DRIVE, id=str(run), queue=queue))
    return True


def enforce(run: UUID, held: Outcome, limit: Limit, plan_one: PlanOne) -> bool:
    """
    Row 29: record *held* for an attempt whose *limit* has passed, from outside.

    Returns False when the attempt ended meanwhile, or a heartbeat came in time.
    """
    terms = _Terms(sets=_shut_out(held), still=(limits.passed(limit),))
    try:
        retried(lambda: _record(run, held, plan_one, here=False, terms=terms))
    except Refused:
        return False
    return True


def expire(run: UUID, held: Outcome, plan_one: PlanOne) -> bool:
    """
    Row 29: end a step whose own deadline has passed, whoever is in its body.

    Returns False when it has ended, or another try of it has begun, meanwhile.
    """
    terms = _Terms(sets=_shut_out(held))
    try:
        retried(lambda: _record(run, held, plan_one, here=False, terms=terms))
    except Refused:
        return False
    return True


def _shut_out(held: Outcome) -> dict[str, Any]:
    """
    Take the lease from the pass that is in this inline attempt, if it has it still.

    The owner first: MariaDB assigns from left to right.
    """
    if held.queued:
        return {}
    token = held.token
    mine = "CASE WHEN lease_epoch = %s AND status = 'running' THEN"
    return {
        "lease_owner": Sql(f"{mine} NULL ELSE lease_owner END", (token,)),
        "lease_epoch": Sql(f"{mine} lease_epoch + 1 ELSE lease_epoch END", (token,)),
    }


def _settles(held: Outcome) -> bool:
    """Whether no other attempt is owed that a job has to make."""
    return not (held.queued and held.status is ActionStatus.PENDING)


def _join(run: UUID, held: Outcome, status: FlowStatus, queue: str) -> bool:
    """
    What the outcome of a block's member brings: a decision, or the next member.

    Returns whether the run was made due. Asked after the outcome was written, under
    the run's lock, so that of two last members the later one finds none open.
    """
    if blocks.lets_go_on(run, held):
        if status in _WOKEN:
            runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
            runs.update(wake_at=Now())
        return status in _WOKEN
    following = blocks.send_next(run, held)
    if following is not None:
        pk, own = following
        outbox.send(Wake(kind=Wanted.PERFORM, id=str(pk), queue=own or queue))
    return False


def _try_again(run: UUID, held: Outcome, queue: str) -> None:
    step = history.step(run, held.sequence)
    if step.status is not ActionStatus.PENDING:
        return  # its block was decided without it
    outbox.send(
        Wake(
            kind=Wanted.PERFORM,
            id=str(step.id),
            queue=step.queue or queue,
            not_before=held.available_at,
        )
    )


def _standing(run: UUID) -> tuple[FlowStatus, str, bool]:
    """The run's status and queue under its lock, and whether nobody drives it."""
    text = (
        f"SELECT status, queue, {guards.free('lease_owner').text}"
        f" FROM {FlowRun._meta.db_table} WHERE id = %s"
    )
    with dialect.connection().cursor() as cursor:
        cursor.execute(text, [dialect.adapt(run)])
        status, queue, is_free = cursor.fetchone()
    return FlowStatus(status), queue, bool(is_free)


def record_inline(claim: Claim, held: Outcome) -> None:
    """
    Row 27: a step's outcome, in the transaction of its body and by a pass.

    Raises Refused when the lease is gone, and with it all that the body wrote.
    """
    update = RunUpdate(
        run=claim.run,
        where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
        sets={
            "history_seq": journal.plus(1),
            "updated_at": dialect.forward("updated_at"),
        },
    )
    statements: list[Statement] = [
        outcome_update(claim.run, held),
        *journal.insert(claim.run, (outcome_line(held),)),
    ]
    write = apply_at_once if dialect.vendor() == "postgresql" else apply
    write(update, statements)


def record_queued(run: UUID, plan_one: PlanOne, here: bool, held: Outcome) -> None:  # noqa: FBT001
    """
    Row 27: a step's outcome, in the transaction of its body and by a job of its own.

    Raises Refused unless the run may still start work.
    """
    _record(run, held, plan_one, here=here, terms=_WITH_ITS_BODY)


def stands(run: UUID, held: Outcome) -> bool:
    """Whether *held* is recorded, once nobody can be at it any more."""
    with nobody_writes(run):
        return is_recorded(run, held)


def is_driven(claim: Claim) -> bool:
    """Whether the run is still running under this lease."""
    runs = FlowRun.objects.using(dialect.alias()).filter(
        pk=claim.run, lease_owner=claim.owner, lease_epoch=claim.epoch
    )
    return runs.filter(status=FlowStatus.RUNNING).exists()


def is_claimed(run: UUID, step: StepFacts) -> bool:
    """Whether the claim of a queued step stands, under a run that may go on."""
    steps = ActionRun.objects.using(dialect.alias()).filter(
        pk=step.id,
        status=ActionStatus.RUNNING,
        attempt=step.attempt,
        token=step.token,
    )
    return steps.filter(run__status__in=MAY_START_WORK, run_id=run).exists()


def is_recorded(run: UUID, held: Outcome) -> bool:
    """Whether *held* stands, as nobody but its own claim can have written it."""
    stands_as = {held.status}
    if held.status is ActionStatus.PENDING and held.member is not None:
        stands_as.add(ActionStatus.CANCELLED)  # its block was decided without it
    return (
        ActionRun.objects.using(dialect.alias())
        .filter(run_id=run, sequence=held.sequence, status__in=stands_as)
        .filter(attempt=held.attempt, token=held.token)
        .exists()
    )


def refuse(run: UUID, held: Outcome) -> None:
    """Row 7: keep an outcome that nobody may record, and say so to a person."""
    data: dict[str, Any] = {
        "name": held.name,
        "attempt": held.attempt,
        "status": held.status.value,
    }
    if held.succeeded:
        data["result"] = held.result
    else:
        data["error"] = held.message
    line = journal.line("action.outcome_rejected", held.sequence, **data)

    def attempt() -> None:
        with atomic():
            sets: dict[str, Any] = {"history_seq": journal.plus(1)}
            if held.succeeded:
                sets["attention"] = Sql("'outcome_rejected'")
            guard(RunUpdate(run=run, where=(guards.ANY,), sets=sets))
            run_statement(
                run, attempt_row(run, held.sequence, held.attempt, "superseded")
            )
            if held.succeeded:
                ActionRun.objects.using(dialect.alias()).filter(
                    run_id=run, sequence=held.sequence
                ).exclude(status=ActionStatus.COMPLETED).update(in_doubt=True)
            for statement in journal.insert(run, (line,)):
                run_statement(run, statement)

    try:
        retried(attempt)
    except Refused:
        # the run has been pruned: there is nothing left to write to
        return

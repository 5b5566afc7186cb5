"""Rows of a rollback: planned (13–15), extended (6), started (31), settled (32)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from saga_flow.models import ActionAttempt, ActionRun, CompensationRun, FlowRun
from saga_flow.records import (
    Claim,
    Line,
    Outcome,
    StepFacts,
    UndoFacts,
    UndoPlan,
    Wake,
    Wanted,
)
from saga_flow.states import (
    TERMINAL,
    ActionStatus,
    CompensationState,
    CompensationStatus,
    FlowStatus,
)
from saga_flow.store import dialect, guards, history, journal, outbox
from saga_flow.store.claims import new_token
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import outcome_update
from saga_flow.store.sql import Insert, RunUpdate, Update, guard, run_statement
from saga_flow.store.transaction import Refused, atomic, retried

PlanOne = Callable[[StepFacts], UndoPlan | None]
"""Says how a step is undone, or that it is not; raises if it can't be resolved."""


def planned(
    run: UUID, first: Sequence[UndoPlan], plan_one: PlanOne
) -> tuple[list[UndoPlan], list[Line]]:
    """
    Read the steps again under the run's lock and plan once more, row by row.

    Ordinals that this reading can't plan are restored from *first*; if it fails as
    a whole, *first* stands. Either is said in the journal.
    """
    kept = {plan.sequence: plan for plan in first}
    try:
        with transaction.atomic(using=dialect.alias()):
            steps = history.steps(run)
    except Exception as error:  # noqa: BLE001 - whatever it is, the first plan stands
        return list(first), [journal.line("rollback.replan_failed", error=str(error))]
    plans: dict[int, UndoPlan] = {}
    missing: list[int] = []
    for step in steps:
        try:
            plan = plan_one(step)
        except Exception:  # noqa: BLE001 - one bad row must not cost the others
            plan = kept.get(step.sequence)
            missing.append(step.sequence)
        if plan is not None:
            plans[plan.sequence] = plan
    for sequence in kept.keys() - plans.keys():
        plans[sequence] = kept[sequence]
        missing.append(sequence)
    ordered = sorted(plans.values(), key=lambda plan: plan.level)
    if not missing:
        return ordered, []
    told = journal.line("rollback.replan_incomplete", ordinals=sorted(set(missing)))
    return ordered, [told]


def insert(run: UUID, plans: Sequence[UndoPlan], *, out_of_order: bool = False) -> None:
    """One row per undone ordinal; one that is there already is left as it is."""
    if plans:
        run_statement(
            run,
            Insert(
                model=CompensationRun,
                once=True,
                rows=[_row(run, plan, out_of_order) for plan in plans],
            ),
        )


def _row(run: UUID, plan: UndoPlan, out_of_order: bool) -> dict[str, Any]:
    now = dialect.now()
    return {
        "run_id": run,
        "sequence": plan.sequence,
        "order": -plan.sequence,
        "level": plan.level,
        "name": plan.name,
        "status": CompensationStatus.PENDING.value,
        "arguments": plan.arguments,
        "options": plan.options,
        "policy": plan.policy,
        "out_of_order": out_of_order,
        "attempt": 0,
        "lost_attempts": 0,
        "available_at": now,
        "token": 0,
        "handled_by": "",
        "handled_note": "",
        "repairs": 0,
        "created_at": now,
    }


def extend(run: UUID, step: StepFacts, plan_one: PlanOne) -> None:
    """
    A step that was in flight completed under the rollback: its undo joins.

    It joins at the head of what remains; where its place in the order has passed,
    the row says so. A step that can't be planned here is kept in doubt, and listed.
    """
    try:
        plan = plan_one(step)
    except Exception as error:  # noqa: BLE001 - the outcome itself must stay recorded
        ActionRun.objects.using(dialect.alias()).filter(
            run_id=run, sequence=step.sequence
        ).update(in_doubt=True)
        _tell(run, journal.line("rollback.not_extended", step.sequence, error=error))
        return
    if plan is None:
        return
    begun = CompensationRun.objects.using(dialect.alias()).filter(
        run_id=run, level__gt=plan.level
    )
    passed = begun.exclude(status=CompensationStatus.PENDING).exists()
    insert(run, (plan,), out_of_order=passed)
    _tell(
        run,
        journal.line(
            "rollback.plan_extended",
            step.sequence,
            name=plan.name,
            out_of_order=passed,
        ),
    )


def give_up_lost(claim: Claim, lost: Outcome, plan: UndoPlan | None) -> None:
    """
    A step in flight whose worker has died: failed, in doubt, its effect unknown.

    Its undo joins only where the step asked for that. An outcome that comes later is
    refused and listed. Raises Refused when the rollback was taken over.
    """
    line = journal.line("action.lost", lost.sequence, name=lost.name)

    def attempt() -> None:
        with atomic():
            guard(
                RunUpdate(
                    run=claim.run,
                    where=(guards.CANCELLING, guards.leased(claim.owner, claim.epoch)),
                    sets={"history_seq": journal.plus(1)},
                )
            )
            run_statement(claim.run, outcome_update(claim.run, lost))
            if plan is not None:
                insert(claim.run, (plan,))
            for statement in journal.insert(claim.run, (line,)):
                run_statement(claim.run, statement)

    retried(attempt)


def _tell(run: UUID, line: Line) -> None:
    """One more line, in a transaction that already holds the run's lock."""
    guard(
        RunUpdate(
            run=run, where=(guards.ANY,), sets={"history_seq": journal.plus(1)}
        )
    )
    for statement in journal.insert(run, (line,)):
        run_statement(run, statement)


def start(claim: Claim, undo: UndoFacts) -> UndoFacts:
    """
    Row 31: the rollback's driver begins one try of *undo*.

    Raises Refused when the rollback was ended or taken over.
    """
    where = (guards.CANCELLING, guards.leased(claim.owner, claim.epoch))
    return retried(lambda: _start(claim.run, undo, claim.owner, where))


def _start(
    run: UUID, undo: UndoFacts, owner: UUID, where: tuple[Sql, ...]
) -> UndoFacts:
    lost = undo.status is CompensationStatus.RUNNING
    token = new_token()
    pending = f"compensation_state = '{CompensationState.PENDING.value}'"
    with atomic():
        guard(
            RunUpdate(
                run=run,
                where=where,
                sets={
                    "revision": Sql(
                        f"CASE WHEN {pending} THEN revision + 1 ELSE revision END"
                    ),
                    "compensation_state": CompensationState.RUNNING.value,
                    "rollback_level": undo.level,
                    "passes": Sql("passes + 1"),
                    "history_seq": journal.plus(1),
                    "updated_at": dialect.now(),
                },
            )
        )
        run_statement(
            run,
            Update(
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
            ),
        )
        line = journal.line(
            "compensation.started",
            undo.sequence,
            name=undo.name,
            attempt=undo.attempt + 1,
        )
        for statement in journal.insert(run, (line,)):
            run_statement(run, statement)
        row = CompensationRun.objects.using(dialect.alias()).get(pk=undo.id)
        return _facts(row)


def _facts(row: CompensationRun) -> UndoFacts:
    values = {name: getattr(row, name) for name in UndoFacts.__dataclass_fields__}
    values["status"] = CompensationStatus(row.status)
    return UndoFacts(**values)


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
                    "updated_at": now,
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
        state = state_of(run)
        if state != row.compensation_state:
            sets = {
                "compensation_state": state.value,
                "revision": Sql("revision + 1"),
            }
            guard(RunUpdate(run=run, where=(guards.CLOSED,), sets=sets))


def state_of(run: UUID) -> CompensationState:
    """
    How far a run that is closed, or about to be, has been undone.

    Completed only if every planned undo completed and no step of the run is in
    doubt, still running, or refused.
    """
    alias = dialect.alias()
    statuses = set(
        CompensationRun.objects.using(alias)
        .filter(run_id=run)
        .values_list("status", flat=True)
    )
    steps = ActionRun.objects.using(alias).filter(run_id=run)
    doubtful = (
        steps.filter(in_doubt=True).exists()
        or steps.filter(status=ActionStatus.RUNNING).exists()
    )
    if doubtful or statuses - {CompensationStatus.COMPLETED}:
        return CompensationState.FAILED
    return CompensationState.COMPLETED if statuses else CompensationState.NONE


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
            _tell(run, line)

    try:
        retried(attempt)
    except Refused:
        return

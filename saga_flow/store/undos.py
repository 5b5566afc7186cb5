"""The undos that a rollback plans (rows 13–15), and how its plan is extended (6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from saga_flow.models import ActionRun, CompensationRun
from saga_flow.records import (
    Claim,
    Line,
    Outcome,
    StepFacts,
    UndoPlan,
)
from saga_flow.states import (
    UNFINISHED_UNDO,
    ActionStatus,
    CompensationState,
    CompensationStatus,
)
from saga_flow.store import dialect, guards, history, journal
from saga_flow.store.gathered import outcome_update
from saga_flow.store.sql import Insert, RunUpdate, guard, run_statement
from saga_flow.store.transaction import atomic, retried

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
            steps = history.steps_to_undo(run)
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
    ordered = sorted(plans.values(), key=lambda plan: plan.place)
    if not missing:
        return ordered, []
    told = journal.line("rollback.replan_incomplete", ordinals=sorted(set(missing)))
    return ordered, [told]


def insert(
    run: UUID,
    plans: Sequence[UndoPlan],
    *,
    first: int = 0,
    out_of_order: bool = False,
) -> None:
    """
    One row per undone ordinal; one that is there already is left as it is.

    *first* is the place in the rollback of the first of *plans*.
    """
    if plans:
        run_statement(
            run,
            Insert(
                model=CompensationRun,
                once=True,
                rows=[
                    _row(run, plan, order, out_of_order=out_of_order)
                    for order, plan in enumerate(plans, first)
                ],
            ),
        )


def _row(
    run: UUID, plan: UndoPlan, order: int, *, out_of_order: bool
) -> dict[str, Any]:
    now = dialect.now()
    return {
        "run_id": run,
        "sequence": plan.sequence,
        "order": order,
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
        tell(run, journal.line("rollback.not_extended", step.sequence, error=error))
        return
    if plan is None:
        return
    begun = CompensationRun.objects.using(dialect.alias()).filter(
        run_id=run, level__gt=plan.level
    )
    passed = begun.exclude(status=CompensationStatus.PENDING).exists()
    insert(run, (plan,), first=planned_so_far(run), out_of_order=passed)
    tell(
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
                insert(claim.run, (plan,), first=planned_so_far(claim.run))
            for statement in journal.insert(claim.run, (line,)):
                run_statement(claim.run, statement)

    retried(attempt)


def unfinished(run: UUID) -> bool:
    """Whether an undo of *run* is still to be done, or under way."""
    rows = CompensationRun.objects.using(dialect.alias()).filter(run_id=run)
    return rows.filter(status__in=UNFINISHED_UNDO).exists()


def planned_so_far(run: UUID) -> int:
    """How many undos *run* has, whatever became of them."""
    rows = CompensationRun.objects.using(dialect.alias()).filter(run_id=run)
    return rows.count()


def tell(run: UUID, line: Line) -> None:
    """One more line, in a transaction that already holds the run's lock."""
    guard(
        RunUpdate(run=run, where=(guards.ANY,), sets={"history_seq": journal.plus(1)})
    )
    for statement in journal.insert(run, (line,)):
        run_statement(run, statement)


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

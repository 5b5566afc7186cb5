"""The rollback's plan: a question to rows, never a replay (docs/engine.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from saga_flow import conf, registry, tenancy
from saga_flow.exceptions import RollbackNotPlannable, SagaFlowError
from saga_flow.records import Outcome, Redaction, StepFacts, UndoPlan
from saga_flow.serialization.arguments import decode_arguments, resolve_results
from saga_flow.states import ActionStatus
from saga_flow.store.options import dump_rule, load_redaction
from saga_flow.store.undos import PlanOne

_GAVE_UP: Final = frozenset(
    {
        ActionStatus.FAILED,
        ActionStatus.OPTIONAL_FAILED,
        ActionStatus.EXPIRED,
        ActionStatus.CANCELLED,
    }
)


def planner(kept: str | None) -> PlanOne:
    """:func:`plan_one` for the steps of a run that was started in this tenancy."""
    return lambda step: plan_one(step, kept)


def plan_one(step: StepFacts, kept: str | None) -> UndoPlan | None:
    """
    How *step* is undone, or None if nothing is to undo.

    A completed step is undone; one that failed, gave up or had begun only where it
    asked for that. Its arguments are decoded in the tenancy *kept* with the run, since
    a model reference is looked up. Raises whatever makes the undo unresolvable in this
    process.
    """
    if not step.undo_name or not _calls_for_undo(step):
        return None
    undo = registry.action(step.undo_name)
    completed = step.status is ActionStatus.COMPLETED
    arguments = resolve_results(
        step.undo_arguments or "{}", step.result if completed else None
    )
    with tenancy.entered(kept):
        decode_arguments(arguments, undo.function, what=undo.name)
    rule = undo.rule
    if not undo.names_retry:
        tries = replace(rule.retry, attempts=conf.get().UNDO_ATTEMPTS)
        rule = replace(rule, retry=tries)
    hidden = load_redaction(step.options).undo
    if hidden:
        rule = replace(rule, redact=Redaction(arguments=hidden))
    return UndoPlan(
        sequence=step.sequence,
        level=-(step.sequence if step.block is None else step.block),
        name=undo.name,
        arguments=arguments,
        options=dump_rule(rule),
        policy=step.undo_policy or conf.get().ON_COMPENSATION_FAILURE,
    )


def _calls_for_undo(step: StepFacts) -> bool:
    if step.status is ActionStatus.COMPLETED:
        return True
    wished = step.undo_on_own_failure
    if wished is None:
        wished = conf.get().COMPENSATE_FAILED_STEP
    ended = step.status in _GAVE_UP or step.status is ActionStatus.PENDING
    # one that expired or was cancelled before its first try has had no effect
    return wished and ended and step.attempt > 0


def plan(
    steps: Iterable[StepFacts], *, instance_id: str, kept: str | None
) -> list[UndoPlan]:
    """
    The first plan, drawn before anything is written, newest ordinal first.

    Raises RollbackNotPlannable, naming the step, so that a run whose rollback can't
    be planned is left as it was found.
    """
    plans: list[UndoPlan] = []
    for step in steps:
        try:
            found = plan_one(step, kept)
        except SagaFlowError as error:
            raise unplannable(instance_id, step, error) from error
        except Exception as error:  # a model reference may raise anything
            raise unplannable(instance_id, step, error) from error
        if found is not None:
            plans.append(found)
    return sorted(plans, key=lambda each: each.place)


def unplannable(
    instance_id: str, step: StepFacts, error: Exception
) -> RollbackNotPlannable:
    """The error that names the step whose undo can't be resolved here."""
    return RollbackNotPlannable(
        f"Run {instance_id!r} can't be rolled back here: the undo {step.undo_name!r} "
        f"of step {step.sequence} ({step.name}) is not to be had: {error} Nothing was "
        "changed. Deploy code that has it, then try again.",
        outcome="rejected_not_plannable",
        reason="rollback_not_plannable",
    )


def with_held(steps: Iterable[StepFacts], held: Outcome | None) -> list[StepFacts]:
    """Steps as they will stand once the outcome in hand is recorded."""
    if held is None:
        return list(steps)
    return [
        replace(step, status=held.status, result=held.result)
        if step.sequence == held.sequence
        else step
        for step in steps
    ]

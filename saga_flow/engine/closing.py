"""How a pass closes its run: completed, failed for good, or into a rollback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from saga_flow import conf, structural, tenancy
from saga_flow.engine import planning
from saga_flow.engine.passes import Pass
from saga_flow.exceptions import (
    ActionExpired,
    ActionFailed,
    LimitExceeded,
    PayloadTooLarge,
    ResultNotSerializable,
    RollbackNotPlannable,
    Unserialisable,
)
from saga_flow.records import Claim, Gathered
from saga_flow.serialization import codec
from saga_flow.serialization.bounded import bounded
from saga_flow.serialization.failures import failure_of
from saga_flow.serialization.text import to_json
from saga_flow.states import FlowStatus
from saga_flow.store import guards, history, passes
from saga_flow.store import rollback as store_rollback

SUMMARY_BYTES: Final = 1024


def error_text(error: BaseException, *, category: str = "application") -> str:
    """A run's error as it is stored: what was thrown, and which step it was."""
    failure = failure_of(error)
    if isinstance(error, LimitExceeded | PayloadTooLarge):
        category = "structural_limit"
    data: dict[str, Any] = {
        "category": category,
        "type": failure.type,
        "qualified_name": failure.qualified_name,
        "message": failure.message,
        "traceback": failure.traceback,
        "causes": [
            {"type": cause.type, "message": cause.message} for cause in failure.causes
        ],
    }
    if isinstance(error, ActionFailed):
        data["step"] = error.sequence
        data["cause"] = {
            "type": error.type,
            "message": error.message,
            "attempt": error.attempt,
        }
    if isinstance(error, ActionExpired):
        data["step"] = error.sequence
    return to_json(data)


def summarise(pass_: Pass, workflow: Any) -> None:
    """
    What people read about the run: its own words, or ``workflow <status>``.

    A summary that is empty, absent or raises is replaced when it is shown.
    """
    text = pass_.said
    asked = getattr(workflow, "status_summary", None)
    if callable(asked):
        try:
            with tenancy.entered(pass_.claim.tenancy):
                text = str(asked())
        except Exception:  # noqa: BLE001 - a summary must never cost the run
            text = None
    if text is not None:
        pass_.pending.summary = bounded(text, SUMMARY_BYTES)


def complete(pass_: Pass, value: Any) -> bool:
    """``handle()`` returned: row 11. A value that can't be stored fails the run."""
    claim = pass_.claim
    try:
        result = codec.encode(
            value,
            what=f"result of {claim.workflow_name}",
            limit=conf.get().MAX_PAYLOAD_BYTES,
        )
    except (Unserialisable, PayloadTooLarge) as error:
        return fail(pass_, ResultNotSerializable(str(error)))
    structural.note_size(result, what=f"result of {claim.workflow_name}")
    passes.complete(claim, pass_.pending.gathered(), result, pass_.ordinal)
    return False


def fail(pass_: Pass, error: BaseException) -> bool:
    """
    ``handle()`` raised: row 13. Returns whether a rollback was entered.

    A rollback that can't be planned here leaves the run waiting, held off for a
    while, with the outcome in hand recorded.
    """
    claim, gathered = pass_.claim, pass_.pending.gathered()
    steps = planning.with_held(history.steps_to_undo(claim.run), gathered.held)
    try:
        first = planning.plan(steps, instance_id=claim.instance_id, kept=claim.tenancy)
    except RollbackNotPlannable as unplannable:
        hold_off(claim, gathered, unplannable, pass_)
        return False
    status = store_rollback.enter(
        store_rollback.Ending(
            run=claim.run,
            queue=claim.queue,
            where=(guards.RUNNING, guards.leased(claim.owner, claim.epoch)),
            closing_as=FlowStatus.FAILED,
            error=error_text(error),
            first=first,
            plan_one=planning.planner(claim.tenancy),
            claim=claim,
            parent=claim.parent,
            gathered=gathered,
            position=pass_.recorded_now,
        )
    )
    return status is FlowStatus.CANCELLING


def hold_off(
    claim: Claim, gathered: Gathered, error: RollbackNotPlannable, pass_: Pass
) -> None:
    """Give the run back, due again after a window that doubles each time."""
    window = store_rollback.hold_window(history.holds(claim.run))
    kept = replace(gathered, markers=())
    passes.hold_off(
        claim,
        kept,
        bounded(str(error), SUMMARY_BYTES),
        pass_.now() + window,
        pass_.recorded_now,
    )


def fail_definitely(claim: Claim, gathered: Gathered, error: BaseException) -> bool:
    """Stored facts can't be reconciled: closed as failed, nothing is undone."""
    passes.fail_now(claim, gathered, error_text(error, category="definite"))
    return False

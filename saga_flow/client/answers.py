"""What a request is answered, in stable words, and the error for each refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from saga_flow.exceptions import (
    CannotCancelTerminalFlow,
    CannotSignalCancellingFlow,
    CannotSignalTerminalFlow,
    CommandConflict,
    CommandRejected,
    ConflictError,
    DuplicateInstance,
    NotInterrupted,
    NotStarted,
    RollbackNotPlannable,
    RunNotFound,
)
from saga_flow.records import Answer, Snapshot
from saga_flow.states import FlowStatus
from saga_flow.store.command_rows import Command

REASON_OF: Final[Mapping[str, str]] = {
    "rejected_duplicate": "instance_already_started",
    "rejected_not_started": "instance_not_started",
    "rejected_not_active": "run_not_active",
    "rejected_not_current": "selected_run_not_current",
    "rejected_run_not_closed": "run_not_closed",
    "rejected_not_interrupted": "run_not_interrupted",
    "rejected_unknown_signal": "unknown_signal",
    "rejected_invalid_arguments": "invalid_signal_arguments",
    "rejected_structural_limit": "structural_limit_exceeded",
    "rejected_not_plannable": "rollback_not_plannable",
    "rejected_conflict": "conflict",
    "rejected_not_found": "instance_not_found",
}

_ERROR_OF: Final[Mapping[str, type[CommandRejected]]] = {
    "rejected_duplicate": DuplicateInstance,
    "rejected_not_started": NotStarted,
    "rejected_not_interrupted": NotInterrupted,
    "rejected_not_plannable": RollbackNotPlannable,
    "rejected_conflict": CommandConflict,
}


def accepted(
    command: Command, run: Snapshot, outcome: str, *, idempotent: bool = False
) -> Answer:
    """The answer to a request that was carried out, or had been before."""
    return Answer(
        accepted=True,
        outcome=outcome,
        run_id=run.run_id,
        instance_id=run.instance_id,
        workflow_name=run.workflow_name,
        command_id=command.id,
        idempotent=idempotent,
        details={"status": run.status.value},
    )


def rejected(
    command: Command,
    outcome: str,
    message: str,
    run: Snapshot | None = None,
    *,
    conflict: str = "",
) -> Answer:
    """
    The answer to a request that changed nothing.

    *conflict* is the reason of the ConflictError that it stands for, if it does.
    """
    return Answer(
        accepted=False,
        outcome=outcome,
        run_id=run.run_id if run else command.target.run_id,
        instance_id=run.instance_id if run else command.target.instance_id,
        workflow_name=run.workflow_name if run else "",
        command_id=command.id,
        rejection_reason=REASON_OF[outcome],
        message=message,
        details={
            "command": command.type,
            "status": run.status.value if run else "",
            "conflict": conflict,
        },
    )


def raise_for(answer: Answer) -> None:
    """
    Raise the error that a rejected answer stands for; else do nothing.

    That is a CommandRejected, RunNotFound, or the ConflictError of a lost race.
    """
    if not answer.accepted:
        _raise(answer)
    told = answer.details.get("status")
    if answer.outcome == "cancelled" and told == FlowStatus.CANCELLED:
        # the command layer repeats itself; a handle refuses every closed run
        raise CannotCancelTerminalFlow(
            f"Run {answer.run_id} of {answer.instance_id!r} is cancelled already.",
            outcome=answer.outcome,
            reason="run_not_active",
        )


def _raise(answer: Answer) -> NoReturn:
    if answer.outcome == "rejected_not_found":
        raise RunNotFound(answer.message)
    if answer.details.get("conflict"):
        raise ConflictError(
            run_id=answer.run_id,
            reason=answer.details["conflict"],
            status=answer.details["status"],
            wanted=answer.details["command"],
        )
    kind = _ERROR_OF.get(answer.outcome)
    if kind is None:
        kind = _by_command(answer)
    raise kind(answer.message, outcome=answer.outcome, reason=answer.rejection_reason)


def _by_command(answer: Answer) -> type[CommandRejected]:
    if answer.outcome != "rejected_not_active":
        return CommandRejected
    match answer.details.get("command"):
        case "signal" if answer.details.get("status") == "cancelling":
            return CannotSignalCancellingFlow
        case "signal":
            return CannotSignalTerminalFlow
        case "cancel" | "compensate" | "terminate":
            return CannotCancelTerminalFlow
        case _:
            return CommandRejected

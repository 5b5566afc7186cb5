"""Commands on a run that is there: each finds it, asks the store, answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from saga_flow import conf
from saga_flow.client import answers, contracts
from saga_flow.engine import ending
from saga_flow.exceptions import RollbackNotPlannable, RunNotFound
from saga_flow.queries import snapshot
from saga_flow.records import Answer, Request, Snapshot, Target
from saga_flow.states import ENDS_NOW, OPEN, TAKES_SIGNAL, FlowStatus
from saga_flow.store import command_rows, commands, conflicts
from saga_flow.store.command_rows import Command, KeyTaken
from saga_flow.store.commands import TooManyPending
from saga_flow.store.transaction import Refused

_ATTEMPTS: Final = 8

Judge = Callable[[Snapshot], tuple[str, str] | None]
"""Says why a run can't take a command (outcome, message), or None: it can."""


class _NoOp(Exception):
    """The command is accepted, and there is nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Act:
    """One command: how it judges a run, and what it does."""

    judge: Judge
    act: Callable[[Command, Snapshot], str | None]
    """Returns another outcome than the command's own, if there is one to tell."""


def _command(
    type_: str,
    target: Target,
    request: Request,
    outcome: str,
    payload: str | None = None,
) -> Command:
    return Command(
        type=type_, target=target, request=request, outcome=outcome, payload=payload
    )


def _carry_out(command: Command, how: _Act) -> Answer:
    known = command_rows.answered(command)
    if known is not None:
        return known
    try:
        return _decide(command, how)
    except KeyTaken:
        return command_rows.answered(command) or answers.rejected(
            command,
            "rejected_conflict",
            "This idempotency key is in use by a request that has not committed yet; "
            "try again.",
        )


def _decide(command: Command, how: _Act) -> Answer:
    """Judge, act, and after a lost race judge afresh; never guess."""
    for _ in range(_ATTEMPTS):
        try:
            run = snapshot(command.target)
        except RunNotFound as error:
            return answers.rejected(command, "rejected_not_found", str(error))
        refusal = _general(command, run)
        if refusal is None and _is_stale(command, run):
            return _stale(command, run)
        refusal = refusal or how.judge(run)
        if refusal is not None:
            return _refuse(command, run, *refusal)
        tried = _try(command, run, how)
        if isinstance(tried, Answer):
            return tried
        lost = tried
    return _exhausted(command, run, lost)


def _exhausted(command: Command, run: Snapshot, last: Refused) -> Answer:
    """Every try lost its race; the last one's reason is told."""
    met = "" if last.guard is None else f" The last try met: {conflicts.explain(last)}"
    answer = _refuse(
        command,
        run,
        "rejected_conflict",
        f"Run {run.run_id} kept changing while the command was tried {_ATTEMPTS} "
        "times (conflict_attempts_exhausted). Look at it again before you repeat."
        + met,
    )
    exhausted = {**answer.details, "conflict": "conflict_attempts_exhausted"}
    return replace(answer, details=exhausted)


def _try(command: Command, run: Snapshot, how: _Act) -> Answer | Refused:
    """Act on the run as it was read; the refusal, if it had moved on."""
    try:
        outcome = how.act(command, run)
    except Refused as refused:
        return refused
    except _NoOp:
        return _nothing_to_do(command, run)
    except RollbackNotPlannable as error:
        return _refuse(command, run, "rejected_not_plannable", str(error))
    except TooManyPending as error:
        answer = _refuse(command, run, "rejected_structural_limit", _too_many(run))
        return _limited(answer, "MAX_PENDING_SIGNALS", error.count)
    return answers.accepted(command, run, outcome or command.outcome)


def _general(command: Command, run: Snapshot) -> tuple[str, str] | None:
    """Checks that every command begins with, in the order that decides the reason."""
    if run.status is FlowStatus.RESERVED:
        return "rejected_not_started", (
            f"Instance {run.instance_id!r} is only reserved; start it first, or give "
            "it up with flows.release()."
        )
    if command.target.run_id is not None and not run.is_current:
        return "rejected_not_current", (
            f"Run {run.run_id} is not the current run of {run.instance_id!r}; commands "
            "go to the current one."
        )
    return None


def _is_stale(command: Command, run: Snapshot) -> bool:
    expected = command.request.expected_revision
    return expected is not None and expected != run.revision


def _stale(command: Command, run: Snapshot) -> Answer:
    """A request about a run that moved on since: not even a command row is left."""
    message = (
        f"Run {run.run_id} is at revision {run.revision}, not "
        f"{command.request.expected_revision} (stale_revision): somebody decided on "
        "it since you looked."
    )
    answer = answers.rejected(
        command, "rejected_conflict", message, run, conflict="stale_revision"
    )
    return replace(answer, command_id=None)


def _refuse(command: Command, run: Snapshot, outcome: str, message: str) -> Answer:
    command = replace(command, outcome=outcome)
    command_rows.reject(
        command,
        run=run.run_id,
        instance_id=run.instance_id,
        rejection_reason=answers.REASON_OF[outcome],
        message=message,
    )
    return answers.rejected(command, outcome, message, run)


def _nothing_to_do(command: Command, run: Snapshot) -> Answer:
    command_rows.note(command, run=run.run_id, instance_id=run.instance_id)
    return answers.accepted(command, run, command.outcome, idempotent=True)


def _closed(run: Snapshot, wanted: str) -> tuple[str, str]:
    state = "rolling back" if run.status is FlowStatus.CANCELLING else "closed"
    return "rejected_not_active", (
        f"Run {run.run_id} of {run.instance_id!r} is {run.status.value} ({state}), so "
        f"it can't be {wanted}."
    )


def _limited(answer: Answer, limit: str, count: int) -> Answer:
    """The refusal with the limit that it hit, its value and the count that it met."""
    value = getattr(conf.get(), limit)
    met = {"limit": limit, "value": value, "count": count}
    return replace(answer, details={**answer.details, **met})


def _too_many(run: Snapshot) -> str:
    return (
        f"Run {run.run_id} holds {conf.get().MAX_PENDING_SIGNALS} unread signals, the "
        "most that SAGA_FLOW['MAX_PENDING_SIGNALS'] allows."
    )


def signal(target: Target, name: str, payload: str, request: Request) -> Answer:
    """Store a delivery and wake the run; checked against its contract, not its code."""
    limit = conf.get().MAX_PENDING_SIGNALS

    def judge(run: Snapshot) -> tuple[str, str] | None:
        if run.status not in TAKES_SIGNAL:
            return _closed(run, "signalled")
        unknown = contracts.unknown_signal(run.run_id, name)
        if unknown is not None:
            return "rejected_unknown_signal", unknown
        return contracts.payload_problem(name, payload)

    def act(command: Command, run: Snapshot) -> None:
        commands.signal(command, run, name, limit)

    command = _command("signal", target, request, "signal_received", payload)
    return _carry_out(replace(command, about=name), _Act(judge=judge, act=act))


def cancel(target: Target, request: Request) -> Answer:
    """End the run now; nothing is undone."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        return _already_ending(run, "cancelled")

    def act(command: Command, run: Snapshot) -> None:
        if run.status not in ENDS_NOW:
            raise _NoOp
        commands.cancel(command, run)

    return _carry_out(
        _command("cancel", target, request, "cancelled"), _Act(judge=judge, act=act)
    )


def _already_ending(run: Snapshot, wanted: str) -> tuple[str, str] | None:
    """Closed as cancelled, or on its way there: accepted, with nothing to do."""
    if run.status in ENDS_NOW or run.status is FlowStatus.CANCELLED:
        return None
    if run.status is FlowStatus.CANCELLING:
        if run.closing_as == FlowStatus.CANCELLED:
            return None
        return "rejected_conflict", (
            f"Run {run.run_id} is rolling back and will end as {run.closing_as}; only "
            "terminate stops that."
        )
    outcome, message = _closed(run, wanted)
    if run.status is FlowStatus.COMPLETED:
        message += " Its completion came first (completed_before_cancel)."
    return outcome, message


def compensate(target: Target, request: Request) -> Answer:
    """Roll the run back, then close it as cancelled."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        if run.status is FlowStatus.CANCELLED:
            return _closed(run, "rolled back")
        return _already_ending(run, "rolled back")

    def act(command: Command, run: Snapshot) -> None:
        if run.status not in ENDS_NOW:
            raise _NoOp
        ending.compensate(command, run)

    return _carry_out(
        _command("compensate", target, request, "compensating"),
        _Act(judge=judge, act=act),
    )


def terminate(target: Target, request: Request) -> Answer:
    """Close the run from any open status; what stays applied is not undone."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        if run.status in OPEN or run.status is FlowStatus.TERMINATED:
            return None
        return _closed(run, "terminated")

    def act(command: Command, run: Snapshot) -> None:
        if run.status is FlowStatus.TERMINATED:
            raise _NoOp
        commands.terminate(command, run)

    return _carry_out(
        _command("terminate", target, request, "terminated"),
        _Act(judge=judge, act=act),
    )


def interrupt(target: Target, request: Request) -> Answer:
    """Pause the run after the step in hand, until somebody resumes it."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        return None if run.status in ENDS_NOW else _closed(run, "interrupted")

    def act(command: Command, run: Snapshot) -> None:
        if run.status is FlowStatus.INTERRUPTED:
            raise _NoOp
        try:
            commands.interrupt(command, run)
        except Refused:
            if commands.is_asked_to_pause(run.run_id):
                raise _NoOp from None
            raise

    return _carry_out(
        _command("interrupt", target, request, "interrupted"),
        _Act(judge=judge, act=act),
    )


def resume(target: Target, payload: str | None, request: Request) -> Answer:
    """Let an interrupted run go on; *payload* answers its interrupt."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        if run.status is FlowStatus.INTERRUPTED:
            return None
        if run.status not in ENDS_NOW:
            return _closed(run, "resumed")
        return "rejected_not_interrupted", (
            f"Run {run.run_id} of {run.instance_id!r} is {run.status.value}; only an "
            "interrupted run can be resumed."
        )

    def act(command: Command, run: Snapshot) -> None:
        commands.resume(command, run, payload)

    return _carry_out(
        _command("resume", target, request, "resumed", payload),
        _Act(judge=judge, act=act),
    )


def repair(target: Target, request: Request) -> Answer:
    """Supply what an open run is missing; never raises because of a status."""

    def act(command: Command, run: Snapshot) -> str | None:
        if run.status not in OPEN or run.status is FlowStatus.INTERRUPTED:
            raise _NoOp
        done = replace(command, outcome="repair_dispatched")
        try:
            commands.repair(done, run)
        except Refused:
            # a live worker has it: there is nothing to mend
            raise _NoOp from None
        return done.outcome

    return _carry_out(
        _command("repair", target, request, "repair_not_needed"),
        _Act(judge=lambda _run: None, act=act),
    )


def archive(target: Target, request: Request) -> Answer:
    """Take a closed run out of the default lists."""

    def judge(run: Snapshot) -> tuple[str, str] | None:
        if run.is_terminal:
            return None
        return "rejected_run_not_closed", (
            f"Run {run.run_id} is {run.status.value}; only a closed run is archived."
        )

    def act(command: Command, run: Snapshot) -> str | None:
        if run.archived_at is not None:
            raise _NoOp
        done = replace(command, outcome="archived")
        commands.archive(done, run)
        return done.outcome

    return _carry_out(
        _command("archive", target, request, "archive_not_needed"),
        _Act(judge=judge, act=act),
    )

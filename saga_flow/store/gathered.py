"""What a pass has decided since its last commit, as statements and journal lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    FlowSignal,
    FlowTag,
    FlowTimer,
    SideEffect,
)
from saga_flow.records import (
    Claim,
    Gathered,
    Line,
    NewStep,
    Outcome,
    StepCall,
    StepRule,
    TakenSignal,
    Try,
)
from saga_flow.states import ActionStatus, SignalStatus, TimerStatus
from saga_flow.store import blocks, dialect, journal
from saga_flow.store.dialect import Sql
from saga_flow.store.hints import SENT
from saga_flow.store.options import dump_rule
from saga_flow.store.pages import pages
from saga_flow.store.sql import Insert, Statement, Update

_OUTCOME_LINE: Final[Mapping[ActionStatus, str]] = {
    ActionStatus.COMPLETED: "action.completed",
    ActionStatus.FAILED: "action.failed",
    ActionStatus.EXPIRED: "action.expired",
    ActionStatus.PENDING: "action.attempt_failed",
}


def outcome_update(run: UUID, held: Outcome, *conditions: Sql) -> Update:
    """The step row's own guard: it is still this attempt under this claim."""
    owed = held.status is ActionStatus.PENDING
    status: Sql | str = held.status.value
    available_at: Sql | datetime | None = held.available_at
    if owed and held.member is not None:
        status, available_at = blocks.unless_left(held.available_at)
    return Update(
        model=ActionRun,
        sets={
            "status": status,
            "result": held.result,
            "error": held.error,
            "available_at": available_at,
            "in_doubt": held.in_doubt,
            "worker": None,
            "closed_at": None if owed else dialect.now(),
        },
        where={
            "run_id": run,
            "sequence": held.sequence,
            "status": held.before.value,
            "attempt": held.attempt,
            "token": held.token,
        },
        conditions=conditions,
    )


def outcome_line(held: Outcome) -> Line:
    """The journal line of an outcome."""
    data: dict[str, Any] = {"name": held.name}
    if held.attempt > 1 or not held.succeeded:
        data["attempt"] = held.attempt
    if held.message:
        data["error"] = held.message
    if held.available_at is not None:
        data["available_at"] = held.available_at.isoformat()
    return journal.line(_OUTCOME_LINE[held.status], held.sequence, **data)


def failed_attempt(run: UUID, held: Outcome) -> tuple[Insert, ...]:
    """The row of an attempt that failed; a success leaves none."""
    if held.succeeded or held.before is ActionStatus.PENDING:
        return ()
    return (
        Insert(
            model=ActionAttempt,
            rows=[
                {
                    "run_id": run,
                    "sequence": held.sequence,
                    "attempt": held.attempt,
                    "undo": False,
                    "outcome": "failed",
                    "error": held.error,
                    "worker": None,
                    "started_at": held.started_at,
                    "closed_at": dialect.now(),
                }
            ],
        ),
    )


def attempt_row(run: UUID, sequence: int, attempt: int, outcome: str) -> Insert:
    """The row of an attempt that was lost or superseded."""
    return Insert(
        model=ActionAttempt,
        rows=[
            {
                "run_id": run,
                "sequence": sequence,
                "attempt": attempt,
                "undo": False,
                "outcome": outcome,
                "error": None,
                "worker": None,
                "started_at": None,
                "closed_at": dialect.now(),
            }
        ],
    )


def another_attempt(claim: Claim, step: Try) -> list[Statement]:
    """Begin one more try of an inline step; a try that a death cut short is kept."""
    lost = step.status is ActionStatus.RUNNING
    begin = Update(
        model=ActionRun,
        sets={
            "status": ActionStatus.RUNNING.value,
            "attempt": step.attempt + 1,
            "lost_attempts": step.lost_attempts + (1 if lost else 0),
            "token": claim.epoch,
            "worker": claim.owner,
            "available_at": None,
            "started_at": dialect.now(),
            **limits_of(step.rule),
            "heartbeat_at": None,
            "progress": None,
        },
        where={
            "run_id": claim.run,
            "sequence": step.sequence,
            "status": step.status.value,
            "attempt": step.attempt,
            "token": step.token,
        },
    )
    if not lost:
        return [begin]
    return [begin, attempt_row(claim.run, step.sequence, step.attempt, "lost")]


def limits_of(rule: StepRule) -> dict[str, Any]:
    """When an attempt that begins now is over its limits, as columns of the step."""
    return {
        "deadline_at": dialect.later(rule.timeout),
        "silent_at": dialect.later(rule.heartbeat_timeout),
    }


def metadata_of(gathered: Gathered) -> dict[str, Any]:
    """What ``handle()`` said about the run, as columns of its row."""
    said = {"status_summary": gathered.summary, "memo": gathered.memo}
    return {column: text for column, text in said.items() if text is not None}


def lines_of(gathered: Gathered) -> list[Line]:
    """The journal lines of what was decided since the last commit."""
    lines = [] if gathered.held is None else [outcome_line(gathered.held)]
    return [*lines, *gathered.lines]


def waiting_lines(gathered: Gathered) -> list[Line]:
    """The journal lines of what a suspended run newly waits for."""
    lines = [
        journal.line("signal.awaited", m.sequence, name=m.name)
        for m in gathered.markers
    ]
    lines.extend(
        journal.line("action.scheduled", s.sequence, name=s.call.name)
        for s in gathered.steps
    )
    lines.extend(
        journal.line("child.started", c.sequence, workflow=c.order.workflow_name)
        for c in gathered.children
    )
    return lines


def statements_of(claim: Claim, gathered: Gathered) -> list[Statement]:
    """What was decided since the last commit, as statements."""
    found: list[Statement] = []
    if gathered.held is not None:
        found.append(outcome_update(claim.run, gathered.held))
        found.extend(failed_attempt(claim.run, gathered.held))
    found.extend(_gave_up(claim, sequence) for sequence in gathered.gave_up)
    if gathered.side_effects:
        found.append(_side_effects(claim, gathered))
    for taken in gathered.taken:
        found.extend(_take(taken))
    found.extend(_time_out(marker) for marker in gathered.timed_out)
    found.extend(_fire(timer) for timer in gathered.fired)
    if gathered.timers:
        found.append(_timers(claim, gathered))
    for losers in gathered.losers:
        found.extend(blocks.leave(claim.run, losers))
    for key, value in gathered.tags.items():
        found.extend(_tag(claim.run, key, value))
    return found


def _gave_up(claim: Claim, sequence: int) -> Update:
    return Update(
        model=ActionRun,
        sets={"status": ActionStatus.OPTIONAL_FAILED.value},
        where={
            "run_id": claim.run,
            "sequence": sequence,
            "status": ActionStatus.FAILED.value,
        },
    )


def _side_effects(claim: Claim, gathered: Gathered) -> Insert:
    return Insert(
        model=SideEffect,
        rows=[
            {
                "run_id": claim.run,
                "sequence": new.sequence,
                "kind": new.kind.value,
                "key": new.key,
                "value": new.value,
                "created_at": dialect.now(),
            }
            for new in gathered.side_effects
        ],
    )


def _take(taken: TakenSignal) -> Iterable[Update]:
    now = dialect.now()
    ends: dict[str, Any] = {
        "status": SignalStatus.CONSUMED.value,
        "applied_seq": taken.applied,
        "closed_at": now,
    }
    if taken.marker is None:
        ends["sequence"] = taken.sequence
    else:
        yield Update(
            model=FlowSignal,
            sets={
                "status": SignalStatus.CONSUMED.value,
                "delivery_id": taken.delivery,
                "closed_at": now,
            },
            where={"id": taken.marker, "status": SignalStatus.WAITING.value},
        )
    yield Update(
        model=FlowSignal,
        sets=ends,
        where={"id": taken.delivery, "status": SignalStatus.RECEIVED.value},
    )


def _time_out(marker: int) -> Update:
    return Update(
        model=FlowSignal,
        sets={"status": SignalStatus.TIMED_OUT.value, "closed_at": dialect.now()},
        where={"id": marker, "status": SignalStatus.WAITING.value},
    )


def _fire(timer: int) -> Update:
    return Update(
        model=FlowTimer,
        sets={"status": TimerStatus.FIRED.value, "closed_at": dialect.now()},
        where={"id": timer, "status": TimerStatus.PENDING.value},
    )


def _timers(claim: Claim, gathered: Gathered) -> Insert:
    now = dialect.now()
    return Insert(
        model=FlowTimer,
        rows=[
            {
                "run_id": claim.run,
                "sequence": new.sequence,
                "status": (
                    TimerStatus.FIRED if new.fired else TimerStatus.PENDING
                ).value,
                "fire_at": new.fire_at,
                "created_at": now,
                "closed_at": now if new.fired else None,
            }
            for new in gathered.timers
        ],
    )


def tag(run: UUID, key: str, value: str) -> tuple[Statement, ...]:
    """One label of a run: its newest value counts."""
    return (
        Insert(
            model=FlowTag,
            rows=[{"run_id": run, "key": key, "value": value}],
            once=True,
        ),
        Update(
            model=FlowTag,
            sets={"value": value},
            where={"run_id": run, "key": key},
            must=False,
        ),
    )


def _tag(run: UUID, key: str, value: str | None) -> tuple[Statement, ...]:
    if value is not None:
        return tag(run, key, value)
    return (
        Update(model=FlowTag, sets={}, where={"run_id": run, "key": key}, must=False),
    )


def new_markers(claim: Claim, gathered: Gathered) -> Insert:
    """Wait-markers at their ordinals."""
    return Insert(
        model=FlowSignal,
        rows=[
            {
                "run_id": claim.run,
                "name": new.name,
                "status": SignalStatus.WAITING.value,
                "sequence": new.sequence,
                "cycle": 0,
                "timeout_at": new.timeout_at,
                "created_at": dialect.now(),
            }
            for new in gathered.markers
        ],
    )


def new_steps(claim: Claim, steps: Sequence[NewStep]) -> Iterable[Insert]:
    """Steps at their ordinals: claimed at once, waiting for a job, or bodiless."""
    rows = [_step_row(claim, step.call, step) for step in steps]
    for page in pages(rows):
        yield Insert(model=ActionRun, rows=page)


def _step_row(claim: Claim, call: StepCall, step: NewStep) -> dict[str, Any]:
    inline = step.status is ActionStatus.RUNNING
    queued = step.status is ActionStatus.PENDING
    now = dialect.now()
    sent = now if queued and not step.held_back else None
    block = call.block if step.block is None else step.block
    undo = call.undo
    return {
        "run_id": claim.run,
        "sequence": step.sequence,
        "name": call.name,
        "status": step.status.value,
        "in_doubt": False,
        "options": dump_rule(call.rule),
        "arguments": call.arguments,
        "optional": call.optional,
        "fallback": call.fallback if call.optional else None,
        "attempt": 1 if inline else 0,
        "lost_attempts": 0,
        "available_at": sent,
        "expires_at": step.expires_at,
        "token": step.token,
        "worker": claim.owner if inline else None,
        "queue": call.rule.queue,
        "queued": queued,
        "undo_name": undo.name if undo else "",
        "undo_arguments": undo.arguments if undo else None,
        "undo_policy": undo.policy if undo else "",
        "undo_on_own_failure": undo.on_own_failure if undo else None,
        "block": block,
        "block_index": None if block is None else step.sequence - block,
        "cycle": 0,
        # the job of a queued step is sent in the same transaction
        "repairs": 0 if sent is None else SENT,
        "repair_at": sent,
        "created_at": now,
        "started_at": now if inline else None,
        "closed_at": None if inline or queued else now,
        **limits_of(call.rule if inline else StepRule()),
    }

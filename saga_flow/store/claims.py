"""Taking the right to drive: a pass (row 3), a queued step (26), a rollback (30)."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, models

from saga_flow.models import ActionRun, FlowEvent, FlowRun, Worker
from saga_flow.records import Claim, Line, StepFacts, StepRule
from saga_flow.serialization.sealing import unseal
from saga_flow.states import LIVE_WORKER, ActionStatus, FlowStatus
from saga_flow.store import dialect, guards, history, journal
from saga_flow.store.announcing import announce
from saga_flow.store.dialect import Binding, Sql
from saga_flow.store.gathered import attempt_row
from saga_flow.store.options import load_rule
from saga_flow.store.sql import RunUpdate, guard, run_statement
from saga_flow.store.sql import run_update as guard_text
from saga_flow.store.transaction import Refused, atomic, in_test_case, retried

_READ: Final = (
    "lease_epoch",
    "inbox",
    "passes",
    "position",
    "intent",
    "instance_id",
    "tenant",
    "run_number",
    "workflow_name",
    "workflow_version",
    "arguments",
    "queue",
    "closing_as",
    "error",
    "drain_until",
    "expires_at",
    "tenancy",
    "parent_id",
    "repairs",
)
_FIRST: Final = {"type": "flow.started", "step": None, "actor": "", "data": "{}"}
"""The line of a first pass, as the one statement writes it on PostgreSQL."""

_TIMES: Final = frozenset({"drain_until", "expires_at"})


def new_token() -> int:
    """A claim that no lease epoch can equal: negative, and hard to guess."""
    return -1 - secrets.randbits(62)


def claim_pass(run: UUID, owner: UUID) -> Claim | None:
    """
    Row 3: take the lease of *run* for one pass, or return None for a stale hint.

    ``wake_at`` stays, so that a worker that dies now loses nothing. An overdue run
    is not claimed: see :func:`saga_flow.engine.ending.expire`.
    """
    now = dialect.now()
    update = RunUpdate(
        run=run,
        where=(
            guards.MSW,
            guards.due(),
            guards.free("lease_owner"),
            Sql(f"(expires_at IS NULL OR expires_at > {now.text})", now.parameters),
        ),
        sets={
            "history_seq": Sql("history_seq + CASE WHEN passes = 0 THEN 1 ELSE 0 END"),
            "started_at": Sql(f"COALESCE(started_at, {now.text})", now.parameters),
            "passes": Sql("passes + 1"),
            "lease_epoch": Sql("lease_epoch + 1"),
            "lease_owner": owner,
            "status": FlowStatus.RUNNING.value,
            "hints": 0,
            "updated_at": dialect.forward("updated_at"),
        },
    )
    return _take(update, owner, FlowStatus.RUNNING)


def claim_rollback(run: UUID, owner: UUID) -> Claim | None:
    """Row 30: take the rollback of *run*, or return None if it is not to be had."""
    update = RunUpdate(
        run=run,
        where=(guards.CANCELLING, guards.due(), guards.free("lease_owner")),
        sets={
            "passes": Sql("passes + 1"),
            "lease_epoch": Sql("lease_epoch + 1"),
            "lease_owner": owner,
            "hints": 0,
            "updated_at": dialect.forward("updated_at"),
        },
    )
    return _take(update, owner, FlowStatus.CANCELLING)


def _take(update: RunUpdate, owner: UUID, status: FlowStatus) -> Claim | None:
    postgres = dialect.vendor() == "postgresql"
    take = _at_once if postgres else _in_transaction
    try:
        row = retried(lambda: take(update, status))
    except Refused:
        return None
    return _claim(update.run, owner, status, row)


def _in_transaction(update: RunUpdate, status: FlowStatus) -> tuple[Any, ...]:
    with atomic():
        guard(update)
        binding = Binding()
        with binding.wrapper.cursor() as cursor:
            names = ", ".join(_READ)
            now = dialect.now()
            cursor.execute(
                f"SELECT {names}, {now.text} FROM {FlowRun._meta.db_table}"
                " WHERE id = %s",
                binding.bound([*now.parameters, update.run]),
            )
            row: tuple[Any, ...] = cursor.fetchone()
        if row[_READ.index("passes")] == 1 and status is FlowStatus.RUNNING:
            for statement in journal.insert(update.run, (Line(type="flow.started"),)):
                run_statement(update.run, statement)
    return row


def _at_once(update: RunUpdate, status: FlowStatus) -> tuple[Any, ...]:
    head, parameters = guard_text(update)
    names, now = ", ".join(_READ), dialect.now()
    text = f"WITH run AS ({head} RETURNING id, history_seq, {names})"
    if status is FlowStatus.RUNNING:
        text += (
            f", line AS (INSERT INTO {FlowEvent._meta.db_table}"
            " (run_id, sequence, type, actor, data, at)"
            f" SELECT id, history_seq, 'flow.started', '', '{{}}', {now.text}"
            " FROM run WHERE passes = 1)"
        )
        parameters.extend(now.parameters)
    parameters.extend(now.parameters)
    binding = Binding()
    with binding.wrapper.cursor() as cursor:
        cursor.execute(
            f"{text} SELECT {names}, {now.text} FROM run", binding.bound(parameters)
        )
        row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        raise Refused(update)
    if row[_READ.index("passes")] == 1 and status is FlowStatus.RUNNING:
        announce(update.run, [_FIRST])
    return row


def _claim(run: UUID, owner: UUID, status: FlowStatus, row: tuple[Any, ...]) -> Claim:
    read = dict(zip(_READ, row, strict=False))
    for name in _TIMES:
        read[name] = dialect.to_datetime(read[name])
    closing_as = read.pop("closing_as")
    return Claim(
        run=run,
        owner=owner,
        epoch=read.pop("lease_epoch"),
        status=status,
        first=read["passes"] == 1,
        now=dialect.to_datetime(row[-1]),
        closing_as=FlowStatus(closing_as) if closing_as else None,
        parent=dialect.to_uuid(read.pop("parent_id")),
        **read,
    )


def claim_step(step: int, owner: UUID) -> tuple[UUID, StepFacts] | None:
    """
    Row 26: claim a queued step whose time has come.

    Refused unless its run may start work, so under a rollback no job starts one.
    Returns the run and the step as claimed, or None for a stale hint. Raises
    CodecFailed, with nothing claimed, for arguments that can't be opened here.
    """
    row = (
        ActionRun.objects.using(dialect.alias())
        .filter(pk=step)
        .values_list("run_id", "sequence", "name", "arguments")
        .first()
    )
    if row is None:
        return None
    (run, sequence, name, arguments), token = row, new_token()
    unseal(arguments, what=f"Arguments of step {sequence} ({name})")
    try:
        return retried(lambda: _claim_step(run, sequence, owner, token))
    except Refused:
        return None
    except DatabaseError:
        if in_test_case():
            raise
        # a commit of unknown result: nobody else can have written this token
        dialect.connection().close_if_unusable_or_obsolete()
        found = history.step(run, sequence)
        if found.token != token:
            raise
        return run, found


def _claim_step(
    run: UUID, sequence: int, owner: UUID, token: int
) -> tuple[UUID, StepFacts]:
    with atomic():
        guard(
            RunUpdate(
                run=run,
                where=(guards.MSW, guards.NO_INTENT),
                sets={
                    "history_seq": journal.plus(1),
                    "updated_at": dialect.forward("updated_at"),
                },
            )
        )
        before = history.step(run, sequence)
        lost = before.status is ActionStatus.RUNNING
        now = dialect.read_now()
        taken: dict[str, Any] = {
            "status": ActionStatus.RUNNING,
            "attempt": before.attempt + 1,
            "lost_attempts": before.lost_attempts + (1 if lost else 0),
            "token": token,
            "worker": owner,
            "available_at": None,
            "started_at": now,
        }
        limits = _limits_from(now, load_rule(before.options))
        changed = _claimable(run, sequence).update(
            **taken, **limits, repairs=0, repair_at=None
        )
        if changed != 1:
            raise Refused
        if lost:
            run_statement(run, attempt_row(run, sequence, before.attempt, "lost"))
        line = journal.line(
            "action.started", sequence, name=before.name, attempt=before.attempt + 1
        )
        for statement in journal.insert(run, (line,)):
            run_statement(run, statement)
    return run, replace(before, **taken, deadline_at=limits["deadline_at"])


def _limits_from(now: datetime, rule: StepRule) -> dict[str, Any]:
    silence = rule.heartbeat_timeout
    return {
        "deadline_at": None if rule.timeout is None else now + rule.timeout,
        "silent_at": None if silence is None else now + silence,
        "heartbeat_at": None,
        "progress": None,
    }


def _claimable(run: UUID, sequence: int) -> models.QuerySet[ActionRun]:
    alive = Worker.objects.filter(pk=models.OuterRef("worker"), status__in=LIVE_WORKER)
    free = models.Q(worker__isnull=True) | ~models.Exists(alive)
    now = dialect.read_now()
    return (
        ActionRun.objects.using(dialect.alias())
        # a block that was decided without it starts no further attempt
        .filter(run_id=run, sequence=sequence, queued=True, closed_by__isnull=True)
        .filter(models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=now))
        .filter(
            models.Q(status=ActionStatus.PENDING, available_at__lte=now)
            | (models.Q(status=ActionStatus.RUNNING) & free)
        )
    )

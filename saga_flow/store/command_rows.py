"""The row that each request leaves (row 39), and what a repeated key is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from saga_flow.ids import uuid7
from saga_flow.models import FlowCommand, FlowRun
from saga_flow.records import Answer, Request, Target
from saga_flow.serialization.bounded import bounded
from saga_flow.states import CommandStatus
from saga_flow.store import dialect
from saga_flow.store.sql import Insert, Update, run_statement
from saga_flow.store.transaction import atomic, retried

REASON_BYTES = 512


class KeyTaken(Exception):
    """Another command has this idempotency key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One request, as it is about to be written."""

    type: str
    target: Target
    request: Request
    outcome: str
    payload: str | None = None
    about: str = ""
    """What it names beside its target: a signal, or the workflow to start."""

    id: UUID = field(default_factory=uuid7)

    @property
    def fingerprint(self) -> str:
        """What was asked, so that a key can't be used for another request."""
        asked = [
            self.type,
            self.target.tenant,
            self.target.instance_id,
            str(self.target.run_id or ""),
            self.about,
            self.payload or "",
            self.request.reason,
        ]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def row(
    command: Command,
    *,
    run: UUID | None,
    instance_id: str,
    status: CommandStatus,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """The columns of a command's row."""
    request, now = command.request, dialect.now()
    accepted = status is CommandStatus.ACCEPTED
    return {
        "id": command.id,
        "tenant": command.target.tenant,
        "type": command.type,
        "target_scope": command.target.scope,
        "instance_id": instance_id[:191],
        "requested_run": command.target.run_id,
        "run_id": run,
        "sequence": None,
        "source": request.source,
        "principal_type": request.principal.type,
        "principal_id": request.principal.id,
        "principal_label": request.principal.label,
        "reason": bounded(request.reason, REASON_BYTES),
        "request_id": request.request_id,
        "fingerprint": command.fingerprint,
        "idempotency_key": request.idempotency_key,
        "payload": command.payload,
        "status": status.value,
        "outcome": command.outcome,
        "rejection_reason": "",
        "message": "",
        "created_at": now,
        "accepted_at": now if accepted else None,
        "applied_at": now if accepted else None,
        "rejected_at": None if accepted else now,
        **extra,
    }


def write(command: Command, run: UUID, instance_id: str) -> None:
    """
    An accepted command's row, before the guard of the run it is for.

    Raises KeyTaken when its idempotency key is there already: whoever comes second
    waits for the first one's commit, then sees it.
    """
    statement = Insert(
        model=FlowCommand,
        rows=[
            row(
                command,
                run=run,
                instance_id=instance_id,
                status=CommandStatus.ACCEPTED,
                extra={},
            )
        ],
    )
    try:
        with atomic():
            run_statement(run, statement)
    except IntegrityError as error:
        if command.request.idempotency_key is None:
            raise
        raise KeyTaken from error


def number(command: Command, run: UUID) -> None:
    """Give the command its number among the run's, once the run's lock is held."""
    run_statement(
        run,
        Update(
            model=FlowCommand,
            sets={"sequence": _history_seq(run)},
            where={"id": command.id},
        ),
    )


def _history_seq(run: UUID) -> Any:
    return dialect.Sql(
        f"(SELECT history_seq FROM {FlowRun._meta.db_table} WHERE id = %s)",
        (dialect.adapt(run),),
    )


def reject(
    command: Command,
    *,
    run: UUID | None,
    instance_id: str,
    rejection_reason: str,
    message: str,
) -> None:
    """A rejected command leaves its own row and nothing else."""
    _alone(
        command,
        run=run,
        instance_id=instance_id,
        status=CommandStatus.REJECTED,
        extra={
            "rejection_reason": rejection_reason,
            "message": bounded(message, REASON_BYTES),
        },
    )


def note(command: Command, *, run: UUID | None, instance_id: str) -> None:
    """An accepted command that had nothing to do leaves its own row."""
    _alone(
        command,
        run=run,
        instance_id=instance_id,
        status=CommandStatus.ACCEPTED,
        extra={},
    )


def _alone(
    command: Command,
    *,
    run: UUID | None,
    instance_id: str,
    status: CommandStatus,
    extra: Mapping[str, Any],
) -> None:
    columns = row(command, run=run, instance_id=instance_id, status=status, extra=extra)
    statement = Insert(model=FlowCommand, rows=[columns])

    def attempt() -> None:
        with atomic():
            run_statement(run or command.id, statement)

    try:
        retried(attempt)
    except IntegrityError as error:
        if command.request.idempotency_key is None:
            raise
        raise KeyTaken from error


def answered(command: Command) -> Answer | None:
    """
    What the first command with this key was answered, or None if there is none.

    Another request under the same key is refused.
    """
    key = command.request.idempotency_key
    if key is None:
        return None
    found = (
        FlowCommand.objects.using(dialect.alias())
        .filter(tenant=command.target.tenant, type=command.type, idempotency_key=key)
        .select_related("run")
        .first()
    )
    if found is None:
        return None
    if found.fingerprint != command.fingerprint:
        return Answer(
            accepted=False,
            outcome="rejected_conflict",
            rejection_reason="conflict",
            instance_id=found.instance_id,
            command_id=found.pk,
            message=(
                f"Idempotency key {key!r} was used for another {command.type}. Use a "
                "key of its own for each request."
            ),
        )
    return _answer(found)


def _answer(found: FlowCommand) -> Answer:
    return Answer(
        accepted=found.status == CommandStatus.ACCEPTED,
        outcome=found.outcome,
        run_id=found.run_id,
        instance_id=found.instance_id,
        workflow_name=found.run.workflow_name if found.run else "",
        command_id=found.pk,
        command_sequence=found.sequence,
        rejection_reason=found.rejection_reason,
        message=found.message,
        idempotent=True,
    )

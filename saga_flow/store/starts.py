"""Making runs: a start or a reservation (row 1), the start of a reservation (2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow.exceptions import ConflictError
from saga_flow.ids import uuid7
from saga_flow.models import FlowCommand, FlowRun, FlowTag
from saga_flow.records import Duplicate, Line, NewChild, StartOrder, Wake, Wanted
from saga_flow.states import TERMINAL, CommandStatus, CompensationState, FlowStatus
from saga_flow.store import command_rows, dialect, guards, journal, outbox
from saga_flow.store.command_rows import Command, KeyTaken
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import tag
from saga_flow.store.hints import SENT
from saga_flow.store.sql import Insert, RunUpdate, guard, run_statement
from saga_flow.store.transaction import Refused, atomic, retried

ROUNDS: Final = 4


_uncommitted: WeakKeyDictionary[BaseDatabaseWrapper, set[UUID]] = WeakKeyDictionary()
"""Runs that the transaction open on a connection has made."""


def made_here(run: UUID) -> bool:
    """Whether the transaction that is open on this connection has made *run*."""
    wrapper = dialect.connection()
    return wrapper.in_atomic_block and run in _uncommitted.get(wrapper, ())


def _remember(run: UUID) -> None:
    wrapper = dialect.connection()
    made = _uncommitted.setdefault(wrapper, set())
    made.add(run)
    transaction.on_commit(lambda: made.discard(run), using=wrapper.alias)


class Taken(Exception):
    """The instance id is taken by another run, which the duplicate policy judges."""

    def __init__(self, run: UUID, status: FlowStatus, run_number: int) -> None:
        self.run, self.status, self.run_number = run, status, run_number
        super().__init__(f"run {run} is {status}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run that a start made."""

    run: UUID
    run_number: int


def start(order: StartOrder, command: Command) -> Started:
    """
    Row 1: accept a start: run, tags, command, first journal line and job together.

    Inserts first and looks only when that is refused: most instance ids are new.

    Joins the caller's transaction. Raises Taken when the instance has a current
    run, KeyTaken when the idempotency key has been used; either leaves the caller's
    transaction usable and writes nothing.
    """
    current: FlowRun | None = None
    for _ in range(ROUNDS):
        try:
            return _try(order, command, current)
        except (IntegrityError, Refused) as error:
            # the place is taken, or somebody else was first: judge their run
            before, current = current, _current(order)
            if current is None and before is None and isinstance(error, IntegrityError):
                raise
            if current is not None and not _gives_way(order, current):
                raise _taken(current) from error
    raise ConflictError(run_id=order.instance_id, reason="conflict_attempts_exhausted")


def _try(order: StartOrder, command: Command, current: FlowRun | None) -> Started:
    if current is not None and current.status == FlowStatus.RESERVED:
        return _start_reserved(order, command, current)
    return retried(partial(_begin, order, command, current))


def _taken(current: FlowRun) -> Taken:
    return Taken(current.pk, FlowStatus(current.status), current.run_number)


def _current(order: StartOrder) -> FlowRun | None:
    return (
        FlowRun.objects.using(dialect.alias())
        .filter(tenant=order.tenant, instance_id=order.instance_id, is_current=True)
        .only("id", "status", "run_number", "queue")
        .first()
    )


def _gives_way(order: StartOrder, current: FlowRun) -> bool:
    """Whether the instance's present run is held for this start, or may be followed."""
    if current.status == FlowStatus.RESERVED:
        return order.arguments is not None
    allowed = order.on_duplicate is Duplicate.ALLOW_AFTER_CLOSED
    return allowed and current.status in TERMINAL


def _begin(order: StartOrder, command: Command, before: FlowRun | None) -> Started:
    run = uuid7()
    run_number = 1 if before is None else before.run_number + 1
    with atomic():
        if before is not None:
            _make_way(before)
        _insert_run(run, order, run_number)
        _label(run, order)
        _command(run, order, command)
        if order.arguments is not None and not order.here:
            _enqueue(run, order)
        _remember(run)
    return Started(run=run, run_number=run_number)


def _insert_run(run: UUID, order: StartOrder, run_number: int) -> None:
    run_statement(run, Insert(model=FlowRun, rows=[_run_row(run, order, run_number)]))
    for statement in journal.insert(run, (_first_line(order),)):
        run_statement(run, statement)


def insert_child(child: NewChild, parent: UUID) -> None:
    """A child's own rows. Raises IntegrityError where its instance id is taken."""
    row = {
        **_run_row(child.run, child.order, 1),
        "parent_id": parent,
        "parent_sequence": child.sequence,
    }
    run_statement(child.run, Insert(model=FlowRun, rows=[row]))
    for statement in journal.insert(child.run, (_first_line(child.order),)):
        run_statement(child.run, statement)
    _label(child.run, child.order)


def _make_way(old: FlowRun) -> None:
    """The closed run stops being the instance's current one."""
    guard(
        RunUpdate(
            run=old.pk,
            where=(guards.CLOSED, Sql("is_current")),
            sets={"is_current": None},
        )
    )


def _first_line(order: StartOrder) -> Line:
    if order.arguments is None:
        return journal.line("flow.reserved")
    return journal.line("flow.created", workflow=order.workflow_name)


def _later(span: timedelta | None) -> Any:
    if span is None:
        return None
    return dialect.read_now() + span


def _run_row(run: UUID, order: StartOrder, run_number: int) -> dict[str, Any]:
    now = dialect.now()
    reserved = order.arguments is None
    due = _later(order.run_after) if order.run_after else now
    return {
        "id": run,
        "tenant": order.tenant,
        "instance_id": order.instance_id,
        "run_number": run_number,
        "is_current": True,
        "workflow_name": order.workflow_name,
        "workflow_version": order.version,
        "contract": order.contract,
        "arguments": order.arguments,
        "status": (FlowStatus.RESERVED if reserved else FlowStatus.PENDING).value,
        "rollback_level": 0,
        "compensation_state": CompensationState.NONE.value,
        "revision": 1,
        "history_seq": 1,
        "inbox": 0,
        "position": 0,
        "passes": 0,
        "lease_epoch": 0,
        "wake_at": None if reserved else due,
        "hints": 0 if reserved else SENT,
        "hint_at": None if reserved else now,
        "holds": 0,
        "repairs": 0,
        "expires_at": _later(order.expires_in),
        "reason": "",
        "principal_type": "",
        "principal_id": "",
        "principal_label": "",
        "business_key": order.business_key,
        "memo": order.memo,
        "queue": order.queue,
        "tenancy": order.tenancy,
        "status_summary": "",
        "wait_kind": "",
        "wait_name": "",
        "wait_reason": "",
        "last_error": "",
        "attention": "",
        "sort_at": now,
        "created_at": now,
        "updated_at": now,
    }


def _label(run: UUID, order: StartOrder) -> None:
    if order.tags:
        run_statement(
            run,
            Insert(
                model=FlowTag,
                rows=[
                    {"run_id": run, "key": key, "value": value}
                    for key, value in order.tags.items()
                ],
            ),
        )


def _relabel(run: UUID, order: StartOrder) -> None:
    """Tags of the start, over those of the reservation."""
    for key, value in order.tags.items():
        for statement in tag(run, key, value):
            run_statement(run, statement)


def _command(run: UUID, order: StartOrder, command: Command) -> None:
    row = command_rows.row(
        command,
        run=run,
        instance_id=order.instance_id,
        status=CommandStatus.ACCEPTED,
        extra={"sequence": 1},
    )
    statement = Insert(model=FlowCommand, rows=[row])
    if command.request.idempotency_key is None:
        run_statement(run, statement)
        return
    try:
        with atomic():
            run_statement(run, statement)
    except IntegrityError as error:
        raise KeyTaken from error


def _enqueue(run: UUID, order: StartOrder) -> None:
    outbox.send(first_job(run, order))


def first_job(run: UUID, order: StartOrder) -> Wake:
    """What a new run's first pass is asked for with."""
    later = _later(order.run_after) if order.run_after else None
    return Wake(kind=Wanted.DRIVE, id=str(run), queue=order.queue, not_before=later)


def _said_at_the_start(order: StartOrder) -> dict[str, Any]:
    """What the start of a reservation says; what it leaves out stays as reserved."""
    said = {"business_key": order.business_key}
    if order.memo != "{}":
        said["memo"] = order.memo
    return {column: value for column, value in said.items() if value}


def _start_reserved(order: StartOrder, command: Command, held: FlowRun) -> Started:
    """Row 2: the start that a reservation was made for."""

    def attempt() -> Started:
        now = dialect.now()
        due = _later(order.run_after) if order.run_after else now
        with atomic():
            guard(
                RunUpdate(
                    run=held.pk,
                    where=(guards.RESERVED,),
                    sets={
                        "status": FlowStatus.PENDING.value,
                        "workflow_name": order.workflow_name,
                        "workflow_version": order.version,
                        "contract": order.contract,
                        "arguments": order.arguments,
                        "queue": order.queue or held.queue,
                        "tenancy": order.tenancy,
                        "expires_at": _later(order.expires_in),
                        **_said_at_the_start(order),
                        "wake_at": due,
                        "revision": Sql("revision + 1"),
                        "history_seq": journal.plus(1),
                        "updated_at": dialect.forward("updated_at"),
                    },
                )
            )
            _relabel(held.pk, order)
            _command(held.pk, order, command)
            command_rows.number(command, held.pk)
            for statement in journal.insert(held.pk, (_first_line(order),)):
                run_statement(held.pk, statement)
            if not order.here:
                _enqueue(held.pk, order)
        return Started(run=held.pk, run_number=held.run_number)

    return retried(attempt)


def release(tenant: str, instance_id: str, command: Command) -> bool:
    """Give up a reservation: its row goes, its command row stays. False: none held."""
    runs = FlowRun.objects.using(dialect.alias())
    held = runs.filter(
        tenant=tenant,
        instance_id=instance_id,
        is_current=True,
        status=FlowStatus.RESERVED,
    ).first()
    if held is None:
        return False

    def attempt() -> bool:
        with atomic():
            command_rows.note(command, run=None, instance_id=instance_id)
            sets = {"updated_at": dialect.forward("updated_at")}
            guard(RunUpdate(run=held.pk, where=(guards.RESERVED,), sets=sets))
            runs.filter(pk=held.pk).delete()
        return True

    try:
        return retried(attempt)
    except Refused:
        return False

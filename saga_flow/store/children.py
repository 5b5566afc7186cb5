"""
Children in rows: started by a suspension (row 8), told of by their end (row 36).

A child's end writes its own row first and its parent's after it, never the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError

from saga_flow.exceptions import CodecFailed
from saga_flow.models import FlowChild, FlowRun
from saga_flow.records import Claim, NewChild, Wake, Wanted
from saga_flow.serialization.text import to_json, tree_of
from saga_flow.states import ChildStatus, FlowStatus
from saga_flow.store import dialect, guards, hints, journal, outbox, starts
from saga_flow.store.dialect import Sql
from saga_flow.store.sql import (
    Among,
    Insert,
    RunUpdate,
    Update,
    guard,
    literal,
    run_statement,
)
from saga_flow.store.transaction import Refused, atomic

_OPEN: Final = (ChildStatus.PENDING.value, ChildStatus.RUNNING.value)
_WOKEN: Final = frozenset(
    {FlowStatus.RUNNING, FlowStatus.WAITING, FlowStatus.CANCELLING}
)
_LINK_OF: Final[Mapping[FlowStatus, ChildStatus]] = {
    FlowStatus.COMPLETED: ChildStatus.COMPLETED,
    FlowStatus.FAILED: ChildStatus.FAILED,
    FlowStatus.EXPIRED: ChildStatus.FAILED,
    FlowStatus.CANCELLED: ChildStatus.CANCELLED,
    FlowStatus.TERMINATED: ChildStatus.CANCELLED,
}


def start(claim: Claim, new: Sequence[NewChild]) -> Iterator[Wake]:
    """
    Insert children and the links to them, in the transaction that suspends *claim*.

    A child whose instance id is taken is not there: its link has failed and says so,
    and its parent is due at once.
    """
    for child in new:
        try:
            with atomic():
                starts.insert_child(child, claim.run)
        except IntegrityError:
            _link(claim, child, _taken(child))
            yield Wake(kind=Wanted.DRIVE, id=str(claim.run), queue=claim.queue)
        else:
            _link(claim, child, None)
            yield starts.first_job(child.run, child.order)


def _taken(child: NewChild) -> str:
    return to_json(
        {
            "status": "not started",
            "type": "DuplicateInstance",
            "message": (
                f"instance id {child.order.instance_id!r} is taken by another run; "
                "give the child one of its own, or leave it out."
            ),
        }
    )


def _link(claim: Claim, child: NewChild, error: str | None) -> None:
    now = dialect.now()
    status = ChildStatus.RUNNING if error is None else ChildStatus.FAILED
    if error is not None:
        _tell(claim.run, child.sequence, status, child.order.workflow_name)
    row: dict[str, Any] = {
        "run_id": claim.run,
        "sequence": child.sequence,
        "child": child.run,
        "workflow_name": child.order.workflow_name,
        "status": status.value,
        "close_policy": child.close_policy.value,
        "close_requested": "",
        "continue_on_failure": child.continue_on_failure,
        "error": error,
        "created_at": now,
        "closed_at": None if error is None else now,
    }
    run_statement(claim.run, Insert(model=FlowChild, rows=[row]))


def ended(child: UUID, parent: UUID | None) -> None:
    """
    Row 36: settle the link of a run that has just ended, and wake its parent.

    Last in the child's terminal transaction. A parent or link that is gone, or that
    has settled, changes nothing for the child.
    """
    if parent is None:
        return
    run = FlowRun.objects.using(dialect.alias()).filter(pk=child)
    row = run.values(
        "status", "result", "error", "parent_sequence", "workflow_name"
    ).get()
    status = _LINK_OF[FlowStatus(row["status"])]
    try:
        guard(RunUpdate(run=parent, where=(guards.ANY,), sets=_woken()))
    except Refused:
        return  # the parent has been pruned
    error = None if status is ChildStatus.COMPLETED else _error(row)
    settled = run_statement(
        parent,
        Update(
            model=FlowChild,
            sets={
                "status": status.value,
                "result": row["result"],
                "error": error,
                "closed_at": dialect.now(),
            },
            where={"run_id": parent, "child": child, "status": Among(_OPEN)},
            must=False,
        ),
    )
    if settled:
        _tell(parent, row["parent_sequence"], status, row["workflow_name"])
        _send(parent)


def _woken() -> dict[str, Any]:
    now = dialect.now()
    return {
        "wake_at": Sql(
            f"CASE WHEN status IN ({literal(_WOKEN)}) THEN {now.text} ELSE wake_at END",
            now.parameters,
        ),
        "inbox": Sql("inbox + 1"),
        **hints.sent(),
        "updated_at": dialect.forward("updated_at"),
    }


def _error(row: Mapping[str, Any]) -> str:
    try:
        tree = tree_of(row["error"], what="error of a child") if row["error"] else {}
    except CodecFailed:
        tree = {}  # the end of a run must not wait for the key to its error
    kept = {"type": tree.get("type", ""), "message": tree.get("message", "")}
    return to_json({"status": row["status"], **kept})


def _tell(run: UUID, sequence: int | None, status: ChildStatus, name: str) -> None:
    """A line of the parent's journal, under its lock; one that failed makes it due."""
    sets: dict[str, Any] = {"history_seq": journal.plus(1)}
    if status is ChildStatus.FAILED:
        sets["wake_at"] = _woken()["wake_at"]
    guard(RunUpdate(run=run, where=(guards.ANY,), sets=sets))
    line = journal.line(f"child.{status.value}", sequence, workflow=name)
    for statement in journal.insert(run, (line,)):
        run_statement(run, statement)


def _send(parent: UUID) -> None:
    """A job for the parent, if nobody drives it and it may go on."""
    text = (
        f"SELECT status, queue, {guards.free('lease_owner').text}"
        f" FROM {FlowRun._meta.db_table} WHERE id = %s"
    )
    with dialect.connection().cursor() as cursor:
        cursor.execute(text, [dialect.adapt(parent)])
        status, queue, is_free = cursor.fetchone()
    if is_free and FlowStatus(status) in _WOKEN:
        outbox.send(Wake(kind=Wanted.DRIVE, id=str(parent), queue=queue))


def open_children(run: UUID) -> list[UUID]:
    """Children of *run* that have not ended, in the order in which they began."""
    links = FlowChild.objects.using(dialect.alias()).filter(
        run_id=run, status__in=_OPEN
    )
    return list(links.order_by("sequence").values_list("child", flat=True))

"""What a rollback that is over has left undone, as its run keeps it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from saga_flow.exceptions import CodecFailed
from saga_flow.models import CompensationRun, FlowRun
from saga_flow.serialization.failures import Failure
from saga_flow.serialization.text import to_json, tree_of
from saga_flow.states import CompensationState, CompensationStatus
from saga_flow.store import dialect, guards
from saga_flow.store.dialect import Sql
from saga_flow.store.sql import RunUpdate, guard
from saga_flow.store.undos import state_of

ATTENTION: Final = "rollback_unfinished"
_KEY: Final = "compensation"


def left(run: UUID) -> dict[str, Any] | None:
    """
    The first undo that failed, or else that did not finish, as kept on the error.

    None if every undo completed.
    """
    rows = list(
        CompensationRun.objects.using(dialect.alias())
        .filter(run_id=run)
        .exclude(status=CompensationStatus.COMPLETED)
        .order_by("level", "order")
        .values("sequence", "name", "status", "error")
    )
    if not rows:
        return None
    failed = [row for row in rows if row["status"] == CompensationStatus.FAILED]
    first = (failed or rows)[0]
    cause = _cause(first["error"]) if failed and first["error"] else None
    return {
        "type": "CompensationFailed" if failed else "CompensationUnfinished",
        "sequence": first["sequence"],
        "name": first["name"],
        "cause": {"type": cause.type, "message": cause.message} if cause else None,
        "left": [row["sequence"] for row in rows],
    }


def _cause(error: str) -> Failure | None:
    try:
        return Failure.from_json(error)
    except CodecFailed:
        return None


def told(run: UUID, error: str | None) -> str | None:
    """A run's *error*, its primary cause kept, with what is left undone now."""
    remains = left(run)
    try:
        tree = tree_of(error, what="error of the run") if error else {}
    except CodecFailed:
        # the end of a run must not wait for the key to its error; the undos' own rows
        # and compensation_state say the same
        return error
    if remains is None and _KEY not in tree:
        return error
    kept = {key: value for key, value in tree.items() if key != _KEY}
    if remains is not None:
        kept[_KEY] = remains
    return to_json(kept) if kept else None


def note(run: UUID, *, bump: bool) -> None:
    """
    Bring what a closed run says of its rollback up to date, under the run's lock.

    Nothing is written for a run that never undid anything. *bump* raises the revision
    if ``compensation_state`` changes: where the transaction has not done so.
    """
    runs = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    row = runs.values("closing_as", "error", "compensation_state", "attention").get()
    undid_by_itself = row["compensation_state"] != CompensationState.NONE
    if row["closing_as"] is None and not undid_by_itself:
        return
    state = state_of(run)
    attention = row["attention"]
    if state is CompensationState.FAILED:
        attention = ATTENTION
    elif attention == ATTENTION:
        attention = ""
    sets: dict[str, Any] = {
        "compensation_state": state.value,
        "error": told(run, row["error"]),
        "attention": attention,
    }
    if bump and state != row["compensation_state"]:
        sets["revision"] = Sql("revision + 1")
    guard(RunUpdate(run=run, where=(guards.CLOSED,), sets=sets))

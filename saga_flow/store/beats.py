"""
A body's signs of life (docs/writes.md, row 28).

They are written on a connection of their own: on the body's they would be part of
whatever transaction it has open, unseen until that commits and locked until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow.models import ActionRun, FlowRun
from saga_flow.states import MAY_START_WORK, ActionStatus
from saga_flow.store import dialect
from saga_flow.store.sql import Update, literal, run_statement
from saga_flow.store.transaction import in_test_case


@dataclass(frozen=True, slots=True, kw_only=True)
class Beating:
    """The attempt that beats, by its claim."""

    run: UUID
    sequence: int
    attempt: int
    token: int
    silence: timedelta | None
    """How long it may be silent from now on."""


def connect(body: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """
    A connection for beats alone, which several threads may use in turn.

    The body's own in a test case, whose transaction no other could see into.
    """
    if in_test_case():
        return body
    mine = body.copy()
    mine.inc_thread_sharing()
    return mine


def must_wait(body: BaseDatabaseWrapper) -> bool:
    """Whether the body's own transaction locks everybody else out, as on SQLite."""
    if body.vendor != "sqlite" or in_test_case():
        return False
    return body.in_atomic_block or not body.get_autocommit()


def beat(wrapper: BaseDatabaseWrapper, beating: Beating, progress: str | None) -> bool:
    """
    Row 28: note that the attempt lives, and its *progress* unless that is None.

    Returns whether its outcome is still wanted: the claim stands, and the run may
    work.
    """
    binding = dialect.Binding(wrapper)
    sets: dict[str, Any] = {
        "heartbeat_at": dialect.now(),
        "silent_at": dialect.later(beating.silence),
    }
    if progress is not None:
        sets["progress"] = progress
    update = Update(
        model=ActionRun,
        sets=sets,
        where={
            "run_id": beating.run,
            "sequence": beating.sequence,
            "status": ActionStatus.RUNNING.value,
            "attempt": beating.attempt,
            "token": beating.token,
        },
        must=False,
    )
    if not run_statement(beating.run, update, binding):
        return False
    text = (
        f"SELECT 1 FROM {FlowRun._meta.db_table}"
        f" WHERE id = %s AND status IN ({literal(MAY_START_WORK)})"
    )
    with wrapper.cursor() as cursor:
        cursor.execute(text, binding.bound([beating.run]))
        return cursor.fetchone() is not None

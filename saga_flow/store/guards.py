"""The conditions that guards are made of, each named as docs/writes.md names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from saga_flow.models import Worker
from saga_flow.states import (
    ENDS_NOW,
    LIVE_WORKER,
    MAY_START_WORK,
    OPEN,
    TAKES_SIGNAL,
    TERMINAL,
    FlowStatus,
)
from saga_flow.store import dialect
from saga_flow.store.dialect import Sql
from saga_flow.store.sql import literal

_WORKER: Final = Worker._meta.db_table


def status_in(statuses: Iterable[FlowStatus]) -> Sql:
    """The run is in one of *statuses*."""
    return Sql(f"status IN ({literal(statuses)})", reason="illegal_transition")


MSW: Final = status_in(MAY_START_WORK)
IS_OPEN: Final = status_in(OPEN)
MAY_BE_ENDED: Final = status_in(ENDS_NOW)
MAY_BE_SIGNALLED: Final = status_in(TAKES_SIGNAL)
CLOSED: Final = status_in(TERMINAL)
RUNNING: Final = status_in({FlowStatus.RUNNING})
WAITING: Final = status_in({FlowStatus.WAITING})
CANCELLING: Final = status_in({FlowStatus.CANCELLING})
INTERRUPTED: Final = status_in({FlowStatus.INTERRUPTED})
RESERVED: Final = status_in({FlowStatus.RESERVED})
NO_INTENT: Final = Sql("intent IS NULL")
ANY: Final = Sql("1 = 1")


def free(column: str) -> Sql:
    """Nobody alive holds it: a stored fact, never a comparison of times."""
    return Sql(
        f"({column} IS NULL OR NOT EXISTS (SELECT 1 FROM {_WORKER} w"
        f" WHERE w.id = {column} AND w.status IN ({literal(LIVE_WORKER)})))"
    )


def leased(owner: UUID, epoch: int) -> Sql:
    """**E**: the run is still held under this lease."""
    return Sql(
        "lease_epoch = %s AND lease_owner = %s",
        (epoch, dialect.adapt(owner)),
        reason="lease_lost",
    )


def inbox_is(value: int) -> Sql:
    """**in=**: nothing arrived since history was read."""
    return Sql("inbox = %s", (value,), reason="stale_revision")


def revision_is(value: int | None) -> tuple[Sql, ...]:
    """**[rev]**: nobody decided since the caller looked, if it said when it did."""
    if value is None:
        return ()
    return (Sql("revision = %s", (value,), reason="stale_revision"),)


def due(column: str = "wake_at") -> Sql:
    """Its time has come, by the database's clock."""
    now = dialect.now()
    return Sql(f"{column} <= {now.text}", now.parameters)

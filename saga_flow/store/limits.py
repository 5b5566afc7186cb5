"""
Which attempts are over a limit, and how a guard asks that (docs/writes.md, row 29).

Only attempts that somebody executes are looked at. There are no more of those than
workers, and the index on ``worker`` finds them: a step without limits, and one that
has ended, cost nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from saga_flow.models import CompensationRun
from saga_flow.records import Limit
from saga_flow.states import OPEN, ActionStatus, CompensationStatus, FlowStatus
from saga_flow.store import dialect
from saga_flow.store.database_time import ago
from saga_flow.store.dialect import Sql
from saga_flow.store.wake import steps

GRACE: Final = timedelta(seconds=1)
"""How much longer than its timeout an attempt is left to its own worker's timer."""

_COLUMNS: Final[Mapping[Limit, tuple[str, timedelta]]] = {
    Limit.TIMEOUT: ("deadline_at", GRACE),
    Limit.SILENCE: ("silent_at", timedelta()),
}
_NOBODY: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrun:
    """An attempt that is over *limit*: of the step at *sequence*, or of its *undo*."""

    run: UUID
    sequence: int
    limit: Limit
    undo: int | None = None
    """The undo's row, if it is one."""


def passed(limit: Limit) -> Sql:
    """The condition on a step's or an undo's row that *limit* has passed."""
    column, grace = _COLUMNS[limit]
    then = dialect.later(-grace) or dialect.now()
    return Sql(f"{column} <= {then.text}", then.parameters)


def overrun(limit: int) -> list[Overrun]:
    """Attempts of steps and undos that are over a limit, the longest over first."""
    found: list[Overrun] = []
    for kind, (column, grace) in _COLUMNS.items():
        over = steps().filter(
            worker__gt=_NOBODY,
            status=ActionStatus.RUNNING,
            run__status__in=OPEN,
            **{f"{column}__lte": ago(grace)},
        )
        rows = over.order_by(column).values_list("run_id", "sequence")[:limit]
        found.extend(Overrun(run=run, sequence=at, limit=kind) for run, at in rows)
    return [*found, *_undos(limit)]


def _undos(limit: int) -> list[Overrun]:
    over = CompensationRun.objects.using(dialect.alias()).filter(
        worker__gt=_NOBODY,
        status=CompensationStatus.RUNNING,
        run__status=FlowStatus.CANCELLING,
        deadline_at__lte=ago(GRACE),
    )
    rows = over.order_by("deadline_at").values_list("run_id", "sequence", "pk")[:limit]
    return [
        Overrun(run=run, sequence=at, limit=Limit.TIMEOUT, undo=pk)
        for run, at, pk in rows
    ]

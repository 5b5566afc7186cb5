"""What shows whether due work is being taken up: cheap reads, for a supervisor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from saga_flow.models import FlowEvent, Worker
from saga_flow.states import LIVE_WORKER, MAY_START_WORK, ActionStatus
from saga_flow.store import dialect
from saga_flow.store.database_time import Now
from saga_flow.store.wake import WAKEABLE, free, runs, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """One look at what waits and at who is there to take it."""

    now: datetime
    """The database's time."""

    due_since: datetime | None
    """When the oldest work that is due and that nobody has became due."""

    live: int
    """Workers that are neither lost nor gone."""

    busy: int
    """Those of them that said in their last beat that they execute something."""

    newest_line: int
    """The newest journal line of all runs: it grows with all that happens."""


def read() -> Pressure:
    """Read it now; nothing is locked or written."""
    live = Worker.objects.using(dialect.alias()).filter(status__in=LIVE_WORKER)
    newest = FlowEvent.objects.using(dialect.alias()).order_by("-pk").values_list("pk")
    line = newest.first()
    return Pressure(
        now=dialect.read_now(),
        due_since=min(filter(None, (_oldest_run(), _oldest_step())), default=None),
        live=live.count(),
        busy=live.exclude(holding="").count(),
        newest_line=line[0] if line else 0,
    )


def _oldest_run() -> datetime | None:
    due = runs().filter(free("lease_owner"), status__in=WAKEABLE, wake_at__lte=Now())
    return due.order_by("wake_at").values_list("wake_at", flat=True).first()


def _oldest_step() -> datetime | None:
    due = steps().filter(
        queued=True,
        status=ActionStatus.PENDING,
        available_at__lte=Now(),
        run__status__in=MAY_START_WORK,
    )
    return due.order_by("available_at").values_list("available_at", flat=True).first()

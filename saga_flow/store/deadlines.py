"""Which runs and steps are past their deadline (docs/writes.md, rows 15 and 29)."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from saga_flow.states import ENDS_NOW, OPEN, ActionStatus
from saga_flow.store.database_time import Now
from saga_flow.store.wake import runs, steps


def overdue(limit: int) -> list[UUID]:
    """
    Runs to be expired, the longest overdue first.

    Not those that are held off because their rollback could not be planned, nor
    those that are rolling back already.
    """
    found: list[tuple[datetime, UUID]] = []
    # One status at a time: that is how the index is read without the closed runs.
    for status in sorted(ENDS_NOW):
        rows = runs().filter(
            Q(hold_until__isnull=True) | Q(hold_until__lte=Now()),
            status=status,
            expires_at__lte=Now(),
        )
        page = rows.order_by("expires_at").values_list("expires_at", "pk")
        found.extend((at, pk) for at, pk in page[:limit] if at is not None)
    return [pk for _, pk in sorted(found)[:limit]]


_NOBODY: Final = UUID(int=0)


def overdue_steps(limit: int) -> list[tuple[UUID, int]]:
    """
    Run and ordinal of the steps to be expired, the longest overdue first.

    A body is at work on some, of which there are no more than workers; the others
    are due to be tried, for none is put off beyond its deadline. An index finds both.
    """
    begun = Q(status=ActionStatus.RUNNING, worker__gt=_NOBODY)
    owed = Q(status=ActionStatus.PENDING, available_at__lte=Now())
    found: list[tuple[datetime, UUID, int]] = []
    for which in (begun, owed):
        rows = steps().filter(which, expires_at__lte=Now(), run__status__in=OPEN)
        page = rows.order_by("expires_at").values_list(
            "expires_at", "run_id", "sequence"
        )
        found.extend((at, run, step) for at, run, step in page[:limit] if at)
    return [(run, sequence) for _, run, sequence in sorted(found)[:limit]]

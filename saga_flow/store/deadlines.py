"""Which runs are past their deadline (docs/writes.md, row 15, is what ends them)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from saga_flow.states import ENDS_NOW
from saga_flow.store.database_time import Now
from saga_flow.store.wake import runs


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

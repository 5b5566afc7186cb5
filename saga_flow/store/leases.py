"""
The right to lead, and when each sweep last ran (docs/writes.md, row 42).

A lease that is not renewed lapses by itself; whoever holds it works only until then
by its own monotonic clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from saga_flow.models import Lease
from saga_flow.store import dialect
from saga_flow.store.database_time import Now, ahead
from saga_flow.store.transaction import atomic, retried

LEADER: Final = "leader"
TERM: Final = timedelta(seconds=12)
"""How long a lease lasts from its last renewal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """When a sweep last ended, and what it reported."""

    name: str
    ran_at: datetime | None
    report: Mapping[str, Any] = field(default_factory=dict)


def acquire(name: str, owner: UUID) -> bool:
    """
    Take the lease *name* for :data:`TERM`, or renew it; False: another has it.

    Looks first, so that whoever merely asks writes nothing.
    """
    there = _rows().filter(name=name)
    is_open = ExpressionWrapper(_to_be_had(owner), output_field=BooleanField())
    looks_open = there.values_list(is_open, flat=True).first()
    if looks_open is None:
        return _insert(name, owner)
    if not looks_open:
        return False
    return retried(
        lambda: bool(
            there.filter(_to_be_had(owner)).update(owner=owner, until=ahead(TERM))
        )
    )


def _to_be_had(owner: UUID) -> Q:
    # A row without an owner answers with NULL, not with false.
    return Q(owner__isnull=False, owner=owner) | Q(until__lt=Now())


def _insert(name: str, owner: UUID) -> bool:
    def insert() -> bool:
        with atomic():
            _rows().create(name=name, owner=owner, until=ahead(TERM))
        return True

    try:
        return retried(insert)
    except IntegrityError:
        # somebody was first; the next call finds their row
        return False


def give_up(name: str, owner: UUID) -> bool:
    """Let the lease *name* lapse at once, if *owner* has it."""
    return retried(
        lambda: bool(
            _rows().filter(name=name, owner=owner).update(owner=None, until=Now())
        )
    )


def record(name: str, report: Mapping[str, Any]) -> None:
    """Note that the sweep *name* has just ended with *report*."""
    text = json.dumps(report, separators=(",", ":"), sort_keys=True)

    def write() -> None:
        with atomic():
            if not _rows().filter(name=name).update(ran_at=Now(), report=text):
                _rows().create(name=name, until=Now(), ran_at=Now(), report=text)

    try:
        retried(write)
    except IntegrityError:
        # its first row was being inserted by another process: theirs will do
        return


def ran() -> tuple[Ran, ...]:
    """What is known of each sweep, by name; never-run ones are missing."""
    rows = _rows().exclude(ran_at=None).order_by("name")
    return tuple(
        Ran(name=row.name, ran_at=row.ran_at, report=json.loads(row.report or "{}"))
        for row in rows
    )


def leader() -> UUID | None:
    """The worker that leads at present, if any does."""
    row = _rows().filter(name=LEADER, until__gte=Now()).first()
    return None if row is None else row.owner


def _rows() -> QuerySet[Lease]:
    return Lease.objects.using(dialect.alias())

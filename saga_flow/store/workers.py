"""
Who executes: one row an incarnation (docs/writes.md, rows 40, 41 and 46).

An incarnation is declared lost by a stored fact and for good. Whoever finds its own
row lost or gone drops every claim and begins again under a new id.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from saga_flow import holdings, ids
from saga_flow.models import Worker
from saga_flow.states import LIVE_WORKER, WORKER_TRANSITIONS, WorkerStatus, sources_of
from saga_flow.store import dialect
from saga_flow.store.database_time import Now, ago
from saga_flow.store.transaction import atomic, retried

SILENCE: Final = timedelta(seconds=20)
"""How long without a beat before a worker may be declared lost."""

MAX_HOLDING: Final = 2000
"""Characters of the text that says what a worker executes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFacts:
    """One incarnation as it stands in the database."""

    id: UUID
    status: WorkerStatus
    host: str
    pid: int
    queue: str
    holding: str
    started_at: datetime
    beat_at: datetime
    stopped_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Identity:
    id: UUID
    pid: int


_lock = threading.Lock()
_mine: _Identity | None = None


def ensure(queue: str = "") -> UUID:
    """
    This process's incarnation, registered first where there is none.

    The row is read each time, not trusted: after a fork, and after this worker was
    declared lost or has left, every local claim is dropped and a new incarnation
    begins. *queue* is the queue that a new one serves.
    """
    with _lock:
        me = current()
        if me is not None and is_live(me):
            return me
        if me is not None:
            holdings.clear()
        return _register(queue)


def current() -> UUID | None:
    """This process's incarnation, if it has one; nothing is read."""
    mine = _mine
    return mine.id if mine is not None and mine.pid == os.getpid() else None


def _register(queue: str) -> UUID:
    global _mine  # noqa: PLW0603 - one process, one incarnation
    key = ids.uuid7()

    def insert() -> None:
        with atomic():
            _rows().create(
                id=key,
                status=WorkerStatus.ALIVE,
                host=socket.gethostname()[:191],
                pid=os.getpid(),
                queue=queue,
                started_at=Now(),
                beat_at=Now(),
            )

    retried(insert)
    _mine = _Identity(key, os.getpid())
    return key


def is_live(worker: UUID) -> bool:
    """Whether *worker* is registered and neither lost nor gone."""
    return _rows().filter(pk=worker, status__in=LIVE_WORKER).exists()


def live_among(some: Iterable[UUID]) -> frozenset[UUID]:
    """Those of *some* that are registered and neither lost nor gone."""
    asked = set(some)
    if not asked:
        return frozenset()
    rows = _rows().filter(pk__in=asked, status__in=LIVE_WORKER)
    return frozenset(rows.values_list("pk", flat=True))


def beat(worker: UUID) -> bool:
    """
    Say that *worker* lives, and what it executes (row 40).

    False: it was declared lost meanwhile. The caller must start nothing and ask
    :func:`ensure` for a new incarnation, which drops the local claims.
    """
    text = ", ".join(sorted(str(held) for held in holdings.current()))
    return retried(
        lambda: bool(
            _rows()
            .filter(pk=worker, status__in=LIVE_WORKER)
            .update(beat_at=Now(), holding=text[:MAX_HOLDING])
        )
    )


def silent(limit: int) -> list[UUID]:
    """Live workers that have not beaten for :data:`SILENCE`, the oldest first."""
    rows = _rows().filter(status__in=LIVE_WORKER, beat_at__lt=ago(SILENCE))
    return list(rows.order_by("beat_at").values_list("pk", flat=True)[:limit])


def declare_lost(worker: UUID) -> bool:
    """
    Store that *worker* is lost, which frees its claims for good (row 41).

    Only for a leader whose own clock and ticks are sound
    (:mod:`saga_flow.pulse.liveness`). False: it has beaten or ended meanwhile.
    """
    return retried(
        lambda: bool(
            _rows()
            .filter(
                pk=worker,
                status__in=sources_of(WorkerStatus.LOST, WORKER_TRANSITIONS),
                beat_at__lt=ago(SILENCE),
            )
            .update(status=WorkerStatus.LOST, stopped_at=Now())
        )
    )


def drain(worker: UUID) -> bool:
    """Store that *worker* finishes what it has and takes nothing more."""
    return retried(
        lambda: bool(
            _rows()
            .filter(
                pk=worker,
                status__in=sources_of(WorkerStatus.DRAINING, WORKER_TRANSITIONS),
            )
            .update(status=WorkerStatus.DRAINING)
        )
    )


def leave(worker: UUID) -> bool:
    """
    Store that *worker* has ended in good order (row 46).

    What it owns is free from here on; :func:`saga_flow.store.release.release_all`
    gives it back to be woken at once.
    """
    return retried(
        lambda: bool(
            _rows()
            .filter(
                pk=worker,
                status__in=sources_of(WorkerStatus.GONE, WORKER_TRANSITIONS),
            )
            .update(status=WorkerStatus.GONE, stopped_at=Now(), holding="")
        )
    )


def forget_ended(older_than: timedelta, limit: int) -> int:
    """Delete rows of workers that ended longer ago; a missing row is free too."""
    rows = _rows().exclude(status__in=LIVE_WORKER)
    old = rows.filter(stopped_at__lt=ago(older_than)).order_by("stopped_at")
    keys = list(old.values_list("pk", flat=True)[:limit])
    if not keys:
        return 0
    return retried(lambda: rows.filter(pk__in=keys).delete()[0])


def listing(limit: int = 200) -> tuple[WorkerFacts, ...]:
    """The live workers, then those that ended last; at most *limit* of each."""
    live = _rows().filter(status__in=LIVE_WORKER).order_by("started_at")
    ended = _rows().exclude(status__in=LIVE_WORKER).order_by("-stopped_at")
    return tuple(_facts(row) for row in (*live[:limit], *ended[:limit]))


def _facts(row: Worker) -> WorkerFacts:
    return WorkerFacts(
        id=row.pk,
        status=WorkerStatus(row.status),
        host=row.host,
        pid=row.pid,
        queue=row.queue,
        holding=row.holding,
        started_at=row.started_at,
        beat_at=row.beat_at,
        stopped_at=row.stopped_at,
    )


def _rows() -> QuerySet[Worker]:
    return Worker.objects.using(dialect.alias())


def _begin_anew() -> None:
    global _lock  # noqa: PLW0603 - as for _mine
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)

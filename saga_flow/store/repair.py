"""
Open runs that neither wait for anything named, nor are due, nor are held.

There should be none: each is the trace of a lost row or of a fault. The doctor looks
at the open runs page by page and wakes what it finds (docs/writes.md, row 22).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from saga_flow.models import (
    ActionRun,
    CompensationRun,
    FlowChild,
    FlowSignal,
    Worker,
)
from saga_flow.states import (
    LIVE_WORKER,
    ActionStatus,
    ChildStatus,
    CompensationStatus,
    FlowStatus,
    SignalStatus,
)
from saga_flow.store import journal
from saga_flow.store.database_time import Now, ago
from saga_flow.store.sql import run_statement
from saga_flow.store.transaction import atomic, retried
from saga_flow.store.wake import WAKEABLE, free, hintable, one_more, runs, send_drive

Place = tuple[datetime, UUID]
"""Where a page ended: the last run's ``sort_at`` and id."""

PATIENCE: Final = timedelta(minutes=1)
LONGEST_PATIENCE: Final = timedelta(hours=12)
_LEVELS: Final = 10

_AHEAD: Final = frozenset(
    {ActionStatus.PENDING, ActionStatus.RUNNING, ActionStatus.AWAITING_RETRY}
)


def page(status: FlowStatus, after: Place | None, limit: int) -> list[Place]:
    """The next *limit* runs of *status* by age, from *after* on."""
    rows = runs().filter(status=status)
    if after is not None:
        later = Q(sort_at__gt=after[0]) | Q(sort_at=after[0], pk__gt=after[1])
        rows = rows.filter(later, sort_at__gte=after[0])
    return list(rows.order_by("sort_at", "pk").values_list("sort_at", "pk")[:limit])


def stuck(among: Sequence[UUID]) -> list[UUID]:
    """Those of *among* that nothing will ever wake."""
    found = runs().filter(nothing_wakes(), pk__in=among)
    return list(found.values_list("pk", flat=True))


def with_free_steps(among: Sequence[UUID]) -> list[UUID]:
    """Those of *among* with a queued step that was begun and that nobody executes."""
    begun = ActionRun.objects.filter(
        free("worker"), run=OuterRef("pk"), queued=True, status=ActionStatus.RUNNING
    )
    rows = runs().filter(Exists(begun), pk__in=among)
    return list(rows.values_list("pk", flat=True))


def repair(run: UUID) -> bool:
    """Wake a run that is stuck; False: it is not, or was repaired just before."""

    def attempt() -> bool:
        with atomic():
            changed = (
                runs()
                .filter(nothing_wakes(), _patient(), hintable(), pk=run)
                .update(
                    wake_at=Now(),
                    hint_at=Now(),
                    hints=one_more("hints"),
                    repair_at=Now(),
                    repairs=F("repairs") + 1,
                    history_seq=F("history_seq") + 1,
                )
            )
            if changed:
                line = journal.line("flow.repaired", missing="wake_up")
                for statement in journal.insert(run, (line,)):
                    run_statement(run, statement)
                send_drive(run)
        return bool(changed)

    return retried(attempt)


def nothing_wakes() -> Q:
    """Open runs that wait for nothing named, are not due and are not held."""
    dead = Q(status__in=(FlowStatus.PENDING, FlowStatus.RUNNING))
    waits_for_nothing = Q(status=FlowStatus.WAITING) & ~_awaited()
    undriven = Q(status=FlowStatus.CANCELLING) & ~_being_undone()
    return Q(
        dead | waits_for_nothing | undriven,
        free("lease_owner"),
        wake_at__isnull=True,
        status__in=WAKEABLE,
    )


def _awaited() -> Q:
    mine = OuterRef("pk")
    step = ActionRun.objects.filter(
        run=mine, status__in=_AHEAD, closed_by__isnull=True
    ).exclude(status=ActionStatus.PENDING, available_at__isnull=True)
    marker = FlowSignal.objects.filter(
        run=mine, status=SignalStatus.WAITING, timeout_at__isnull=True
    )
    return Q(Exists(step)) | Q(Exists(marker)) | _open_child()


def _being_undone() -> Q:
    mine = OuterRef("pk")
    alive = Worker.objects.filter(pk=OuterRef("worker"), status__in=LIVE_WORKER)
    step = ActionRun.objects.filter(
        Exists(alive), run=mine, status=ActionStatus.RUNNING
    )
    undo = CompensationRun.objects.filter(
        Exists(alive), run=mine, status=CompensationStatus.RUNNING
    )
    return Q(Exists(step)) | Q(Exists(undo)) | _open_child()


def _open_child() -> Q:
    child = FlowChild.objects.filter(
        run=OuterRef("pk"), status__in=(ChildStatus.PENDING, ChildStatus.RUNNING)
    )
    return Q(Exists(child))


def _patient() -> Q:
    found = Q(repair_at__isnull=True)
    for repairs in range(_LEVELS):
        found |= Q(repairs=repairs, repair_at__lt=ago(PATIENCE * 2**repairs))
    return found | Q(repairs__gte=_LEVELS, repair_at__lt=ago(LONGEST_PATIENCE))

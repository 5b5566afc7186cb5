"""
Hints for work that is due (docs/writes.md, row 22).

A sweep only wakes: whoever follows the hint claims under the guards of its own row.
The window between two hints for one row doubles with each that led to nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Greatest

from saga_flow.models import ActionRun, CompensationRun, FlowRun, Worker
from saga_flow.records import Wake, Wanted
from saga_flow.states import (
    LIVE_WORKER,
    MAY_START_WORK,
    ActionStatus,
    CompensationStatus,
    FlowStatus,
)
from saga_flow.store import dialect, outbox
from saga_flow.store.database_time import Now, ago
from saga_flow.store.hints import LEVELS, LONGEST, SENT, window
from saga_flow.store.transaction import atomic, retried

WAKEABLE: Final = MAY_START_WORK | {FlowStatus.CANCELLING}


def hintable(at: str = "hint_at", count: str = "hints", due: str = "wake_at") -> Q:
    """
    Not hinted at since it became due, or longer ago than its window.

    The window is what its count of hints stands for.
    """
    found = Q(**{f"{at}__isnull": True}) | Q(**{f"{at}__lt": F(due)})
    for hints in range(LEVELS):
        found |= Q(**{count: hints, f"{at}__lt": ago(window(hints))})
    return found | Q(**{f"{count}__gte": LEVELS, f"{at}__lt": ago(LONGEST)})


def one_more(count: str) -> Greatest:
    """A further hint: the next one is a job's wait in the queue away at least."""
    return Greatest(F(count) + 1, Value(SENT))


def free(owner: str) -> Q:
    """Nobody, or nobody alive, has it: a stored fact, never a comparison of times."""
    alive = Worker.objects.filter(pk=OuterRef(owner), status__in=LIVE_WORKER)
    return Q(**{f"{owner}__isnull": True}) | Q(~Exists(alive))


def due_runs(limit: int) -> list[UUID]:
    """Runs and rollbacks that are due and that nobody has, the oldest first."""
    rows = _wakeable_runs().order_by("wake_at")
    return list(rows.values_list("pk", flat=True)[:limit])


def wake_run(run: UUID) -> bool:
    """Hint at *run* if it is still due, free and not hinted within its window."""

    def attempt() -> bool:
        with atomic():
            changed = (
                _wakeable_runs()
                .filter(pk=run)
                .update(hint_at=Now(), hints=one_more("hints"))
            )
            if changed:
                send_drive(run)
        return bool(changed)

    return retried(attempt)


def _wakeable_runs() -> QuerySet[FlowRun]:
    return runs().filter(
        free("lease_owner"), hintable(), status__in=WAKEABLE, wake_at__lte=Now()
    )


def due_steps(limit: int) -> list[int]:
    """Queued steps whose time has come, the oldest first."""
    rows = _of_open_runs().filter(available_at__lte=Now())
    rows = rows.order_by("available_at", "pk")
    return list(rows.values_list("pk", flat=True)[:limit])


def orphaned_steps(worker: UUID) -> list[int]:
    """Queued steps in whose body *worker* was."""
    return list(_of_open_runs().filter(worker=worker).values_list("pk", flat=True))


def free_steps(run: UUID) -> list[int]:
    """Queued steps of *run* that were begun and that nobody alive executes."""
    rows = _of_open_runs().filter(run=run, status=ActionStatus.RUNNING)
    return list(rows.values_list("pk", flat=True))


def next_step(run: UUID) -> tuple[int, datetime | None] | None:
    """
    The queued step of *run* to be performed next, and when; None: there is none.

    Without a time it is one whose worker is dead, which has no other to wait for.
    """
    owed = Q(status=ActionStatus.PENDING, available_at__isnull=False) | (
        Q(status=ActionStatus.RUNNING) & free("worker")
    )
    rows = steps().filter(owed, run=run, queued=True, closed_by__isnull=True)
    later = When(available_at__gt=Now(), then="available_at")
    ordered = rows.order_by(Case(later).asc(nulls_first=True), "sequence")
    return ordered.values_list("pk", "available_at").first()


def wake_step(step: int) -> bool:
    """Hint at a queued *step* that is due, or whose worker is dead."""

    def attempt() -> bool:
        with atomic():
            row = steps().filter(pk=step).values_list("run_id", "queue").first()
            if row is None or not lock_run(row[0], status__in=MAY_START_WORK):
                return False
            changed = (
                _wakeable_steps()
                .filter(pk=step)
                .update(
                    repairs=Case(
                        When(_NEWLY_DUE, then=Value(SENT)),
                        default=one_more("repairs"),
                    ),
                    repair_at=Now(),
                )
            )
            if changed:
                send_perform(step, row[1] or _queue_of(row[0]))
        return bool(changed)

    return retried(attempt)


# A hint from before the step was due says nothing about this time.
_NEWLY_DUE: Final = Q(repair_at__lt=F("available_at"))


def _wakeable_steps() -> QuerySet[ActionRun]:
    due = Q(status=ActionStatus.PENDING, available_at__lte=Now())
    orphaned = Q(status=ActionStatus.RUNNING) & free("worker")
    return steps().filter(
        due | orphaned,
        hintable("repair_at", "repairs", "available_at"),
        queued=True,
        closed_by__isnull=True,
    )


def _of_open_runs() -> QuerySet[ActionRun]:
    return _wakeable_steps().filter(run__status__in=MAY_START_WORK)


def hint_undos(run: UUID, level: int) -> list[int]:
    """
    Undos of *level* to send a job for now, marked as hinted at.

    Due, or begun by a worker that is dead, and not hinted at within their window. In
    a transaction that holds the lock of *run*.
    """
    rows = undos().filter(
        _owed_undo(),
        hintable("repair_at", "repairs", "available_at"),
        run=run,
        level=level,
    )
    found = list(rows.order_by("order").values_list("pk", flat=True))
    # under the run's lock nobody begins one between the two
    rows.update(repairs=one_more("repairs"), repair_at=Now())
    return found


def next_undo(run: UUID) -> int | None:
    """The undo of *run* that a job was sent for and nobody has begun, if any."""
    rows = undos().filter(
        _owed_undo(),
        run=run,
        run__status=FlowStatus.CANCELLING,
        level=F("run__rollback_level"),
        repair_at__isnull=False,
    )
    return rows.order_by("order").values_list("pk", flat=True).first()


def may_take_undo(undo: int) -> bool:
    """Whether *undo* is due, or begun by a worker that is dead."""
    return undos().filter(_owed_undo(), pk=undo).exists()


def _owed_undo() -> Q:
    due = Q(status=CompensationStatus.PENDING, available_at__lte=Now())
    orphaned = Q(status=CompensationStatus.RUNNING) & free("worker")
    return due | orphaned


def rollbacks_of(worker: UUID) -> list[UUID]:
    """Rollbacks in one of whose undos *worker* was."""
    rows = undos().filter(
        worker=worker,
        status=CompensationStatus.RUNNING,
        run__status=FlowStatus.CANCELLING,
    )
    return list(rows.values_list("run_id", flat=True).distinct())


def set_due(run: UUID) -> bool:
    """Make a rollback that nobody drives due at once, and hint at it."""

    def attempt() -> bool:
        with atomic():
            changed = (
                runs()
                .filter(free("lease_owner"), hintable(), pk=run)
                .filter(status=FlowStatus.CANCELLING)
                .update(wake_at=Now(), hint_at=Now(), hints=one_more("hints"))
            )
            if changed:
                send_drive(run)
        return bool(changed)

    return retried(attempt)


def lock_run(run: UUID, **conditions: object) -> bool:
    """
    Begin a transaction on the rows of *run* with its own row, changing nothing.

    False: the run is not there, or not as *conditions* want it.
    """
    rows = runs().filter(pk=run, **conditions)
    return bool(rows.update(updated_at=F("updated_at")))


def send_drive(run: UUID) -> None:
    """A hint to drive *run*, in the open transaction."""
    outbox.send(Wake(kind=Wanted.DRIVE, id=str(run), queue=_queue_of(run)))


def send_perform(step: int, queue: str) -> None:
    """A hint to perform a queued *step*, in the open transaction."""
    outbox.send(Wake(kind=Wanted.PERFORM, id=str(step), queue=queue))


def _queue_of(run: UUID) -> str:
    return runs().filter(pk=run).values_list("queue", flat=True).first() or ""


def runs() -> QuerySet[FlowRun]:
    """The runs, as the database that takes writes holds them."""
    return FlowRun.objects.using(dialect.alias())


def steps() -> QuerySet[ActionRun]:
    """The steps, as the database that takes writes holds them."""
    return ActionRun.objects.using(dialect.alias())


def undos() -> QuerySet[CompensationRun]:
    """The undos, as the database that takes writes holds them."""
    return CompensationRun.objects.using(dialect.alias())

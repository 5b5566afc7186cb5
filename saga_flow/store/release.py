"""
What a worker owns and nobody executes is given back (docs/writes.md, row 23).

The caller names only what it has found unheld at two successive beats; the guard
names owner and claim, so what was taken up again meanwhile stays where it is.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Case, F, When

from saga_flow.holdings import Holding
from saga_flow.states import ActionStatus, CompensationStatus, FlowStatus
from saga_flow.store.database_time import Now
from saga_flow.store.transaction import atomic, retried
from saga_flow.store.wake import (
    WAKEABLE,
    lock_run,
    runs,
    send_drive,
    send_perform,
    steps,
    undos,
)


def owned(worker: UUID) -> frozenset[Holding]:
    """All claims that the database says *worker* has."""
    leased = runs().filter(lease_owner=worker).values_list("pk", "lease_epoch")
    begun = steps().filter(worker=worker, status=ActionStatus.RUNNING)
    undoing = undos().filter(worker=worker, status=CompensationStatus.RUNNING)
    return frozenset(
        (
            *(Holding(kind="run", id=str(pk), token=epoch) for pk, epoch in leased),
            *(
                Holding(kind="step", id=str(pk), token=token)
                for pk, token in begun.values_list("pk", "token")
            ),
            *(
                Holding(kind="undo", id=str(pk), token=token)
                for pk, token in undoing.values_list("pk", "token")
            ),
        )
    )


def release(worker: UUID, claim: Holding) -> bool:
    """Give *claim* back; False: *worker* no longer has it."""
    give_back = {"run": _release_run, "step": _release_step, "undo": _release_undo}

    def attempt() -> bool:
        with atomic():
            return give_back[claim.kind](worker, claim)

    return retried(attempt)


def release_all(worker: UUID) -> int:
    """Give back all that *worker*, which is ending, still has; return how much."""
    return sum(release(worker, claim) for claim in sorted(owned(worker), key=str))


def _release_run(worker: UUID, claim: Holding) -> bool:
    run = UUID(claim.id)
    mine = runs().filter(pk=run, lease_owner=worker, lease_epoch=claim.token)
    changed = mine.filter(status__in=WAKEABLE).update(lease_owner=None, wake_at=Now())
    if changed:
        send_drive(run)
    return bool(changed)


def _release_step(worker: UUID, claim: Holding) -> bool:
    row = steps().filter(pk=claim.id).values_list("run_id", "queue", "queued").first()
    if row is None or not lock_run(row[0]):
        return False
    # The token stays: a late outcome still counts until somebody claims it anew.
    changed = (
        steps()
        .filter(pk=claim.id, worker=worker, token=claim.token)
        .filter(status=ActionStatus.RUNNING)
        .update(worker=None)
    )
    if changed and row[2]:
        send_perform(int(claim.id), row[1])
    return bool(changed)


def _release_undo(worker: UUID, claim: Holding) -> bool:
    run = undos().filter(pk=claim.id).values_list("run_id", flat=True).first()
    if run is None or not _make_due(run):
        return False
    changed = (
        undos()
        .filter(pk=claim.id, worker=worker, token=claim.token)
        .filter(status=CompensationStatus.RUNNING)
        .update(worker=None)
    )
    if changed:
        send_drive(run)
    return bool(changed)


def _make_due(run: UUID) -> bool:
    rolling_back = When(status=FlowStatus.CANCELLING, then=Now())
    return bool(
        runs().filter(pk=run).update(wake_at=Case(rolling_back, default=F("wake_at")))
    )

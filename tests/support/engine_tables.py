"""The engine's rows as a whole: what changed, and what must hold at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models

from saga_flow.models import FlowEvent, FlowRun, FlowSignal, FlowTimer, Worker
from saga_flow.states import (
    LIVE_WORKER,
    OPEN,
    FlowStatus,
    SignalStatus,
    TimerStatus,
)

Dump = Mapping[str, Mapping[Any, Mapping[str, Any]]]


def dump(*, without: frozenset[str] = frozenset({"Worker"})) -> Dump:
    """Every row of every engine table, by table and key; workers beat, so not they."""
    return {
        model.__name__: {row["pk"]: row for row in _rows(model)}
        for model in apps.get_app_config("saga_flow").get_models()
        if model.__name__ not in without
    }


def _rows(model: type[models.Model]) -> list[dict[str, Any]]:
    names = [field.attname for field in model._meta.concrete_fields]
    return [
        {"pk": row.pk, **{name: getattr(row, name) for name in names}}
        for row in model._default_manager.all()
    ]


def changes(before: Dump, after: Dump) -> dict[str, dict[str, set[Any]]]:
    """Keys of the rows that were added, removed or changed, by table."""
    found: dict[str, dict[str, set[Any]]] = {}
    for table in before:
        old, new = before[table], after[table]
        kinds = {
            "added": set(new) - set(old),
            "removed": set(old) - set(new),
            "changed": {key for key in set(old) & set(new) if old[key] != new[key]},
        }
        told = {kind: keys for kind, keys in kinds.items() if keys}
        if told:
            found[table] = told
    return found


def check_journal(run: UUID) -> list[str]:
    """The types of the run's journal lines, which must be numbered without a gap."""
    lines = list(
        FlowEvent.objects.filter(run_id=run)
        .order_by("sequence")
        .values_list("sequence", "type")
    )
    newest = FlowRun.objects.values_list("history_seq", flat=True).get(pk=run)
    assert [number for number, _ in lines] == list(range(1, newest + 1)), lines
    return [type_ for _, type_ in lines]


def check_standing(run: UUID) -> FlowStatus:
    """
    An open run waits on something named, or has work due, or a live worker holds it.

    Returns its status.
    """
    row = FlowRun.objects.get(pk=run)
    status = FlowStatus(row.status)
    if status not in OPEN or status is FlowStatus.INTERRUPTED:
        assert row.wake_at is None
        assert row.lease_owner is None
        return status
    live = Worker.objects.filter(status__in=LIVE_WORKER)
    held = row.lease_owner in live.values_list("pk", flat=True)
    durable = (
        FlowSignal.objects.filter(run_id=run, status=SignalStatus.WAITING).exists()
        or FlowTimer.objects.filter(run_id=run, status=TimerStatus.PENDING).exists()
    )
    assert row.wake_at is not None or held or durable, f"{row} is stuck as {status}"
    return status


def check_unread(run: UUID) -> None:
    """A run that waits for a signal has no delivery of it lying unread and no wake."""
    row = FlowRun.objects.get(pk=run)
    if row.status != FlowStatus.WAITING or row.wake_at is not None:
        return
    unread = FlowSignal.objects.filter(
        run_id=run, status=SignalStatus.RECEIVED, name=row.wait_name
    )
    assert not unread.exists(), f"{row} sleeps over a delivery of {row.wait_name!r}"

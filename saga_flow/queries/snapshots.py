"""One run as it stands now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from saga_flow.exceptions import RunNotFound
from saga_flow.models import FlowRun, Worker
from saga_flow.queries.payloads import json_object, memo
from saga_flow.queries.reading import rows_of
from saga_flow.records import Snapshot, Target
from saga_flow.states import HAS_A_PASS, LIVE_WORKER, FlowStatus, status_bucket

_SOURCES: Final = {
    "run_id": "id",
    "parent": "parent_id",
    "successor": "rerun_successor",
}
_DERIVED: Final = frozenset({"status_bucket", "lease_lost"})
_COLUMNS: Final = {
    each.name: _SOURCES.get(each.name, each.name)
    for each in fields(Snapshot)
    if each.name not in _DERIVED
}
_PAYLOADS: Final = frozenset({"result"})


def snapshot(target: Target) -> Snapshot:
    """
    Return the run that *target* names: an instance's current run, or one run.

    A target that names both must agree: a run of another instance is not found.
    Raises RunNotFound.
    """
    for _, found in dated_snapshots(_runs(target)[:1], payloads=True):
        return found
    raise RunNotFound(_not_found(target))


def locate(text: str, tenant: str = "") -> Target:
    """
    Return the target that a person means by *text*: an instance id or a run id.

    An instance id wins where both would fit. Raises RunNotFound.
    """
    instance = Target(instance_id=text, tenant=tenant)
    if _runs(instance).exists():
        return instance
    run_id = _uuid(text)
    if run_id is not None:
        run = Target(run_id=run_id, tenant=tenant)
        if _runs(run).exists():
            return run
    raise RunNotFound(
        f"No run has the instance id or run id {text!r}. "
        "manage.py saga_list shows what is there."
    )


def dated_snapshots(
    queryset: QuerySet[FlowRun], *, payloads: bool = False
) -> tuple[tuple[datetime, Snapshot], ...]:
    """
    Return *queryset* as snapshots, each after the time by which lists are ordered.

    Takes two statements, or one if none of the runs is running. Results are left out
    without *payloads*: a list never carries them.
    """
    columns = {
        name: column
        for name, column in _COLUMNS.items()
        if payloads or name not in _PAYLOADS
    }
    found = list(queryset.values(*columns.values(), "sort_at"))
    living = _living(run["lease_owner"] for run in found if _has_a_pass(run))
    return tuple((run["sort_at"], _snapshot(run, columns, living)) for run in found)


def _snapshot(
    run: Mapping[str, Any], columns: Mapping[str, str], living: frozenset[UUID]
) -> Snapshot:
    values = {name: run[column] for name, column in columns.items()}
    status = FlowStatus(values["status"])
    error = values["error"]
    return Snapshot(
        **{
            "result": None,
            **values,
            "status": status,
            "status_bucket": status_bucket(status),
            "is_current": bool(values["is_current"]),
            "error": None if error is None else json_object(error),
            "memo": memo(values["memo"]),
            "status_summary": values["status_summary"] or f"workflow {status.value}",
            "lease_lost": _has_a_pass(run) and run["lease_owner"] not in living,
        }
    )


def _has_a_pass(run: Mapping[str, Any]) -> bool:
    return run["status"] in HAS_A_PASS


def _living(owners: Iterable[UUID | None]) -> frozenset[UUID]:
    asked = {owner for owner in owners if owner is not None}
    if not asked:
        return frozenset()
    alive = rows_of(Worker).filter(pk__in=asked, status__in=sorted(LIVE_WORKER))
    return frozenset(alive.values_list("pk", flat=True))


def _runs(target: Target) -> QuerySet[FlowRun]:
    found = rows_of(FlowRun)
    if "\x00" in target.instance_id + target.tenant:
        # no text column holds it, and PostgreSQL refuses even to look for it
        return found.none()
    if target.run_id is None:
        return found.filter(
            tenant=target.tenant, instance_id=target.instance_id, is_current=True
        )
    # A run id is unique over all tenants, so a target need not name its tenant.
    given = {"tenant": target.tenant, "instance_id": target.instance_id}
    wanted = {name: value for name, value in given.items() if value}
    return found.filter(pk=target.run_id, **wanted)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _not_found(target: Target) -> str:
    of = f" of tenant {target.tenant!r}" if target.tenant else ""
    if target.run_id is None:
        return f"No instance{of} is called {target.instance_id!r}."
    if target.instance_id:
        return f"Instance {target.instance_id!r}{of} has no run {target.run_id}."
    return f"There is no run {target.run_id}{of}."

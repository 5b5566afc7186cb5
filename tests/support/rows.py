"""
All rows of one run as plain data that two runs of the same story share.

Ids, names of instances, times, claims and workers differ from run to run; of them
only remains whether they are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

from django.db import models

from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowSignal,
    FlowTag,
    FlowTimer,
    SideEffect,
)
from saga_flow.models.fields import DocumentField
from saga_flow.serialization.sealing import unseal
from saga_flow.states import SideEffectKind

TABLES: Final[Mapping[str, tuple[type[models.Model], tuple[str, ...]]]] = {
    "steps": (ActionRun, ("sequence",)),
    "attempts": (ActionAttempt, ("undo", "sequence", "attempt")),
    "signals": (FlowSignal, ("pk",)),
    "timers": (FlowTimer, ("sequence",)),
    "side_effects": (SideEffect, ("sequence",)),
    "undos": (CompensationRun, ("level", "order")),
    "commands": (FlowCommand, ("sequence", "type")),
    "journal": (FlowEvent, ("sequence",)),
    "tags": (FlowTag, ("key",)),
}
"""By the name in the dump: the table and what puts its rows in order."""

LEFT_OUT: Final = frozenset(
    {
        "id",
        "run",
        "instance_id",
        "hint_at",  # when a sweep last had a look
        "fingerprint",  # of a request that names the instance
        "idempotency_key",
    }
)
_CHANCE: Final = frozenset(
    {SideEffectKind.NOW, SideEffectKind.UUID4, SideEffectKind.RANDOM}
)
_TEXTS: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?"), "<time>"),
)


def dump(run_id: UUID) -> dict[str, Any]:
    """The run's row and all rows under it."""
    run = FlowRun.objects.get(pk=run_id)
    found: dict[str, Any] = {"run": _row(run)}
    for name, (model, order) in TABLES.items():
        rows = model._default_manager.filter(run=run_id).order_by(*order)
        found[name] = [_row(row) for row in rows]
    named = json.dumps(found).replace(f"'{run.instance_id}'", "'<instance>'")
    return cast("dict[str, Any]", json.loads(named))


def _row(row: models.Model) -> dict[str, Any]:
    return {
        field.name: _column(row, field)
        for field in row._meta.concrete_fields
        if field.name not in LEFT_OUT
    }


def _column(row: models.Model, field: models.Field[Any, Any]) -> Any:
    value = getattr(row, field.attname)
    if value is None:
        return None
    if field.name == "delivery" and isinstance(row, FlowSignal) and row.delivery:
        return {"received_seq": row.delivery.received_seq}
    if field.name == "token":
        return "<claim>" if value else 0
    if field.name == "value" and getattr(row, "kind", "") in _CHANCE:
        return "<value>"
    if isinstance(field, DocumentField):
        return plain(json.loads(unseal(value, what=field.name)))
    return plain(value)


def plain(value: Any) -> Any:
    """*value* without what differs from run to run."""
    match value:
        case datetime():
            return "<time>"
        case UUID():
            return "<id>"
        case str():
            for pattern, instead in _TEXTS:
                value = pattern.sub(instead, value)
            return value
        case dict():
            return {
                key: "<traceback>" if key == "traceback" else plain(each)
                for key, each in value.items()
            }
        case list():
            return [plain(each) for each in value]
        case _:
            return value

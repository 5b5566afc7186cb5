"""Runs as they are replayed: read from the database, or from an exported document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from saga_flow import queries
from saga_flow.engine.rehearsal import Recording
from saga_flow.exceptions import DefinitionError
from saga_flow.queries.document import FORMAT, VERSION
from saga_flow.records import (
    ChildFacts,
    Facts,
    SideEffectFacts,
    SignalFacts,
    StepFacts,
    Target,
    TimerFacts,
)
from saga_flow.serialization.sealing import left_open
from saga_flow.serialization.text import to_json
from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    FlowStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)
from saga_flow.store import history

_OF_A_TRY: Final = ("worker", "available_at", "expires_at", "started_at")

Row = Mapping[str, Any]


def of_run(run_id: UUID, workflow_name: str) -> Recording:
    """A run of the database, to be replayed as *workflow_name*."""
    run = queries.snapshot(Target(run_id=run_id))
    return Recording(
        run=run.run_id,
        instance_id=run.instance_id,
        tenant=run.tenant,
        run_number=run.run_number,
        workflow_name=workflow_name,
        workflow_version=run.workflow_version,
        arguments=queries.arguments(run.run_id),
        status=run.status,
        facts=history.load(run.run_id),
    )


def of_document(document: Mapping[str, Any], workflow_name: str) -> Recording:
    """An export of a run. Raises DefinitionError for any other document."""
    told = (document.get("format"), document.get("version"))
    if told != (FORMAT, VERSION):
        raise DefinitionError(
            f"assert_replays() was given a document of format {told[0]!r}, version "
            f"{told[1]!r}; it takes what handle.export() writes: {FORMAT!r}, {VERSION}."
        )
    run = document["run"]
    return Recording(
        run=UUID(run["run_id"]),
        instance_id=run["instance_id"],
        tenant=run["tenant"],
        run_number=run["run_number"],
        workflow_name=workflow_name,
        workflow_version=run["workflow_version"],
        arguments=_stored(run, "arguments"),
        status=FlowStatus(run["status"]),
        facts=_facts(document),
    )


def _facts(document: Mapping[str, Any]) -> Facts:
    signals = [_signal(row) for row in document["signals"]]
    return Facts(
        steps=_by_ordinal(map(_step, document["steps"])),
        markers={s.sequence: s for s in signals if s.sequence is not None},
        payloads={signal.id: signal.payload for signal in signals},
        timers=_by_ordinal(map(_timer, document["timers"])),
        side_effects=_by_ordinal(map(_side_effect, document["side_effects"])),
        children=_by_ordinal(map(_child, document["children"])),
    )


def _by_ordinal(rows: Iterable[Any]) -> dict[int, Any]:
    return {row.sequence: row for row in rows}


def _stored(row: Row, name: str) -> str | None:
    """A payload as the tables hold it; left out where there is none."""
    return left_open(to_json(row[name])) if name in row else None


def _error(row: Row) -> str | None:
    return None if row["error"] is None else left_open(to_json(row["error"]))


def _fields(kind: type[Any], row: Row) -> dict[str, Any]:
    """What *row* tells of the fields of *kind*; who claimed it, it does not tell."""
    return {each.name: row.get(each.name) for each in fields(kind)}


def _step(row: Row) -> StepFacts:
    told = {
        **_fields(StepFacts, row),
        "status": ActionStatus(row["status"]),
        "arguments": _stored(row, "arguments") or "",
        "options": _stored(row, "options") or "",
        "result": _stored(row, "result"),
        "fallback": _stored(row, "fallback"),
        "error": _error(row),
    }
    # moments of one try, which nothing asks of a replay
    return StepFacts(**{**told, **dict.fromkeys(_OF_A_TRY)})


def _signal(row: Row) -> SignalFacts:
    told = {
        **_fields(SignalFacts, row),
        "status": SignalStatus(row["status"]),
        "payload": _stored(row, "payload"),
        "delivery": row["delivery_id"],
        "timeout_at": None,
    }
    return SignalFacts(**told)


def _timer(row: Row) -> TimerFacts:
    told = {
        **_fields(TimerFacts, row),
        "status": TimerStatus(row["status"]),
        "fire_at": datetime.fromisoformat(row["fire_at"]),
    }
    return TimerFacts(**told)


def _side_effect(row: Row) -> SideEffectFacts:
    told = {
        **_fields(SideEffectFacts, row),
        "kind": SideEffectKind(row["kind"]),
        "value": _stored(row, "value"),
    }
    return SideEffectFacts(**told)


def _child(row: Row) -> ChildFacts:
    told = {
        **_fields(ChildFacts, row),
        "child": UUID(row["child"]),
        "status": ChildStatus(row["status"]),
        "result": _stored(row, "result"),
        "error": _error(row),
    }
    return ChildFacts(**told)

"""What of a story must be the same, whatever went wrong on the way."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from saga_flow.models import ActionRun, CompensationRun, FlowEvent, FlowRun
from tests.integration.conformance.specimens import Effect
from tests.support.rows import dump

KEPT: Final = {
    "run": (
        *("status", "closed_reason", "closing_as", "compensation_state", "result"),
        *("error", "memo", "attention", "status_summary", "wake_at", "lease_owner"),
    ),
    "steps": ("sequence", "name", "status", "result", "in_doubt", "closed_by"),
    "undos": ("sequence", "order", "name", "status", "out_of_order"),
    "signals": ("name", "status", "sequence", "payload"),
    "timers": ("sequence", "status"),
    "side_effects": ("sequence", "kind", "key"),
    "commands": ("type", "status", "outcome"),
    "tags": ("key", "value"),
}
"""By table: the columns that tell what became of the run."""

_ATTEMPT: Final = re.compile(r"attempt \d+")


def essence(run_id: UUID, instance_id: str) -> dict[str, Any]:
    """How the run ended, without its name and how often anything was tried."""
    text = json.dumps(dump(run_id))
    rows = json.loads(text.replace(instance_id, "<instance>"))
    rows["run"] = [rows["run"]]
    return {
        table: [{name: _told(row[name]) for name in names} for row in rows[table]]
        for table, names in KEPT.items()
    }


def _told(value: Any) -> Any:
    match value:
        case str():
            return _ATTEMPT.sub("attempt n", value)
        case dict():
            return {key: _told(each) for key, each in value.items() if key != "attempt"}
        case list():
            return [_told(each) for each in value]
        case _:
            return value


def attempts(run_id: UUID) -> dict[str, int]:
    """How often each step and each undo was begun."""
    steps = ActionRun.objects.filter(run_id=run_id)
    undos = CompensationRun.objects.filter(run_id=run_id)
    return {
        **{f"step {s}": n for s, n in steps.values_list("sequence", "attempt")},
        **{f"undo {s}": n for s, n in undos.values_list("sequence", "attempt")},
    }


def calls(effects: Iterable[Effect]) -> Counter[str]:
    """How often each body was called."""
    return Counter(_body(effect) for effect in effects)


def whole(effects: Iterable[Effect]) -> frozenset[str]:
    """Bodies that the database itself may have undone, to be called again."""
    return frozenset(_body(effect) for effect in effects if effect.whole)


def order(effects: Iterable[Effect]) -> list[str]:
    """In which order bodies were called, tries of one of them taken together."""
    return [body for body, _ in groupby(_body(effect) for effect in effects)]


def phases(order: Iterable[str]) -> list[tuple[bool, set[str]]]:
    """The members, then what comes after them or undoes them, each in any order."""
    halves = groupby(order, key=lambda body: ":undo " in body or " after" in body)
    return [(later, set(bodies)) for later, bodies in halves]


def _body(effect: Effect) -> str:
    return f"{effect.key.partition(':')[2]} {effect.what}"


def journal_has_gaps(run_id: UUID) -> bool:
    """Whether the journal is anything but 1, 2, 3 … up to what the run counts."""
    lines = FlowEvent.objects.filter(run_id=run_id).order_by("sequence")
    counted = FlowRun.objects.values_list("history_seq", flat=True).get(pk=run_id)
    numbers = list(lines.values_list("sequence", flat=True))
    return numbers != list(range(1, counted + 1))

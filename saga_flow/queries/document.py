"""
One run as one JSON document, made piece by piece (docs/operations.md, "Exports").

However big the run is, a few megabytes of it are in memory: pages of rows grow and
shrink with the size of what is in them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final
from uuid import UUID

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.queries import operations
from saga_flow.queries.payloads import whole
from saga_flow.queries.rows import STORED_TEXT
from saga_flow.queries.snapshots import snapshot
from saga_flow.records import Snapshot, Target

FORMAT: Final = "saga_flow.run"
VERSION: Final = 1
PIECE: Final = 64 * 1024
"""Characters that are gathered before they are handed out."""

FIRST_PAGE: Final = 10
LARGEST_PAGE: Final = 500
PAGE_SIZE: Final = 4 * 1024 * 1024
"""Characters that a page of rows should come to."""

Reader = Callable[..., Sequence[Any]]
_TABLES: Final[Mapping[str, tuple[Reader, str, int | UUID]]] = {
    "steps": (operations.steps, "sequence", -1),
    "attempts": (operations.attempts, "id", -1),
    "compensations": (operations.compensations, "id", -1),
    "signals": (operations.signals, "id", -1),
    "timers": (operations.timers, "sequence", -1),
    "side_effects": (operations.side_effects, "sequence", -1),
    "children": (operations.children, "sequence", -1),
    "commands": (operations.commands, "id", UUID(int=0)),
    "journal": (operations.history, "sequence", -1),
}
"""Who reads each table; a page goes on after the field's last value, or the first."""


def export(run_id: UUID) -> Iterator[str]:
    """
    Return one run as pieces of a JSON document. Raises RunNotFound.

    The checksum at its end is the SHA-256 of all that stands before its comma.
    """
    return _pieces(_sealed(_parts(snapshot(Target(run_id=run_id)))))


def _pieces(parts: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _sealed(parts: Iterator[str]) -> Iterator[str]:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        yield part
    yield f',"checksum":"sha256:{digest.hexdigest()}"}}\n'


def _parts(run: Snapshot) -> Iterator[str]:
    yield f'{{"format":{_told(FORMAT)},"version":{VERSION}'
    yield f',"run":{_row(run, arguments=operations.arguments(run.run_id))}'
    tags = {row.key: row.value for row in operations.tags(run.run_id)}
    yield f',"tags":{_told(tags)}'
    for name in _TABLES:
        yield f",{_told(name)}:["
        yield from _rows(name, run.run_id)
        yield "]"
    now = snapshot(Target(run_id=run.run_id))
    yield f',"changed_while_read":{_told(now != run)}'


def _rows(table: str, run_id: UUID) -> Iterator[str]:
    read, place, after = _TABLES[table]
    limit, comma = FIRST_PAGE, ""
    while rows := read(run_id, after=after, limit=limit):
        size = 0
        for row in rows:
            told = _row(row)
            size += len(told)
            yield comma + told
            comma = ","
        after = getattr(rows[-1], place)
        limit = max(1, min(LARGEST_PAGE, PAGE_SIZE * len(rows) // size))


def _row(row: Any, **more: str | None) -> str:
    told: dict[str, str] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if each.name in STORED_TEXT:
            told |= _payload(each.name, value)
        else:
            told[each.name] = _told(value)
    for name, stored in more.items():
        told |= _payload(name, stored)
    return "{" + ",".join(f"{_told(name)}:{text}" for name, text in told.items()) + "}"


def _payload(name: str, stored: str | None) -> dict[str, str]:
    if stored is None:
        return {}
    try:
        return {name: whole(stored)}
    except PayloadNotDecodable as error:
        return {f"{name}_unreadable": _told(str(error))}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, UUID | Enum):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in an export.")


_told: Final = json.JSONEncoder(separators=(",", ":"), default=_plain).encode

"""Stored payloads made readable for people: unwrapped, bounded, never executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.records import Redaction
from saga_flow.serialization import codec
from saga_flow.serialization import text as json_text
from saga_flow.serialization.redaction import HIDDEN, masked
from saga_flow.serialization.sealing import unseal

PREVIEW_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The beginning of a payload as plain text."""

    text: str
    size: int
    """Of the whole payload, in bytes of JSON."""

    cut: bool


def json_object(stored: str) -> Mapping[str, Any]:
    """
    Return a stored JSON object, such as an error.

    What can't be read is described in the same shape instead of raised: a reader of
    many rows must not fail because of one.
    """
    try:
        node = json_text.from_json(
            unseal(stored, what="This column"), what="This column"
        )
    except PayloadNotDecodable as error:
        return {"type": "PayloadNotDecodable", "message": str(error)}
    return node if isinstance(node, dict) else {"message": node}


def memo(stored: str) -> Mapping[str, Any]:
    """Return a stored memo as its author wrote it; what can't be read is described."""
    try:
        found = codec.decode(stored, what="This memo")
    except PayloadNotDecodable as error:
        return {"type": "PayloadNotDecodable", "message": str(error)}
    return found if isinstance(found, dict) else {"message": found}


def shown(column: str, stored: str, redaction: Redaction) -> str:
    """Return a payload of a step or an undo without what nobody is to be shown."""
    match column:
        case "arguments":
            return masked(stored, redaction.arguments)
        case "undo_arguments":
            return masked(stored, redaction.undo)
        case "result" if redaction.result:
            return json_text.to_json(HIDDEN)
        case _:
            return stored


def line_data(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return a journal line's data without a value that an author's code made.

    A late outcome keeps its result there; ``late_results`` reads it.
    """
    return {key: value for key, value in data.items() if key != "result"}


def whole(stored: str) -> str:
    """Return a payload as JSON text, digit for digit. Raises PayloadNotDecodable."""
    raw = unseal(stored, what="This payload")
    json_text.from_json(raw, what="This payload")
    return raw


def preview(stored: str | None, limit: int = PREVIEW_BYTES) -> Preview:
    """Return at most *limit* bytes of a payload, laid out if it is short enough."""
    if stored is None:
        return Preview(text="", size=0, cut=False)
    try:
        raw = unseal(stored, what="This payload")
    except PayloadNotDecodable as error:
        return Preview(text=str(error), size=len(stored.encode()), cut=False)
    data = raw.encode(errors="replace")
    if len(data) > limit:
        shown = data[:limit].decode(errors="ignore")
        return Preview(text=shown, size=len(data), cut=True)
    laid_out = _laid_out(raw)
    fits = len(laid_out.encode(errors="replace")) <= limit
    return Preview(text=laid_out if fits else raw, size=len(data), cut=False)


def _laid_out(raw: str) -> str:
    try:
        node = json_text.from_json(raw, what="This payload")
        faithful = json_text.to_json(node) == raw
    except (PayloadNotDecodable, ValueError, RecursionError):
        return raw
    # A number that Python would round, or a key given twice: show what is stored.
    return json.dumps(node, indent=2) if faithful else raw

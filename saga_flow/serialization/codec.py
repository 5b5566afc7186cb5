"""
The one codec: values as JSON text, and back by annotation.

A value is stored without the name of its class. The annotation of a parameter or a
result says what to read it back as; where there is none it stays JSON (a datetime is a
string, a tuple a list). What an author's code sees, on the first pass as on any later
one, is ``decode(encode(value), annotation)``.
"""

from __future__ import annotations

from typing import Any, Final

from saga_flow.exceptions import PayloadNotDecodable, PayloadTooLarge, Unserialisable
from saga_flow.serialization.decoding import decoder_for
from saga_flow.serialization.encoding import Allowed, Refused, is_plain, to_node
from saga_flow.serialization.markers import path
from saga_flow.serialization.mismatch import Mismatch
from saga_flow.serialization.sealing import unseal
from saga_flow.serialization.text import from_json, to_json

MAX_PAYLOAD_BYTES: Final = 2 * 1024 * 1024
"""The default limit of one payload, in bytes of JSON before any codec."""

_PLAIN: Final = Allowed()
_WITH_MODELS: Final = Allowed(models=True)


def encode(
    value: object,
    *,
    what: str,
    limit: int = MAX_PAYLOAD_BYTES,
    allow_models: bool = False,
) -> str:
    """
    Return *value* as JSON text; the store seals it if there is a codec.

    *what* names it in errors ("result of orders.charge"). Raises Unserialisable, which
    names the path of the offending part, and PayloadTooLarge over *limit* bytes.
    """
    text = plain_text(value)
    if text is None:
        node = checked_node(value, _WITH_MODELS if allow_models else _PLAIN, what)
        text = node_text(node, what=what)
    return within(text, what=what, limit=limit)


def decode(text: str, annotation: object = Any, *, what: str = "payload") -> Any:
    """
    Return the value of stored *text* as *annotation* asks for it.

    Raises PayloadNotDecodable, which names the path of the part that doesn't fit.
    """
    raw = unseal(text, what=what)
    node = from_json(raw, what=what)
    if annotation is Any and '"$' not in raw:
        return node
    return decoded(node, annotation, what=what)


def decoded(node: Any, annotation: object, *, what: str, root: str = "value") -> Any:
    """Return the value of a JSON tree; *root* begins the path in an error."""
    try:
        return decoder_for(annotation)(node)
    except Mismatch as mismatch:
        place = path(root, mismatch.segments)
        raise PayloadNotDecodable(
            f"{what} can't be read back: {place} is {mismatch}. Change the annotation "
            "so that it takes what is stored, or store what it takes."
        ) from mismatch
    except RecursionError as error:
        raise PayloadNotDecodable(
            f"{what} can't be read back: {root} is nested too deeply."
        ) from error


def plain_text(value: object) -> str | None:
    """Return the JSON of a value that needs no conversion; None of any other."""
    if not is_plain(value):
        return None
    try:
        text = to_json(value)
    except ValueError:  # NaN or too long an integer: the slow way says where
        return None
    # An escaped surrogate may be half of a pair that would not come back as it was.
    return None if "\\ud" in text else text


def checked_node(
    value: object, allowed: Allowed, what: str, root: str = "value"
) -> Any:
    """Return the JSON tree of *value*; *root* begins the path in an error."""
    try:
        return to_node(value, allowed)
    except Refused as refused:
        place = path(root, refused.segments)
        raise Unserialisable(
            path=place,
            value_type=refused.value_type,
            message=f"{what} can't be stored: {place} is of type "
            f"{refused.value_type}: {refused.reason}.",
        ) from refused


def node_text(node: object, *, what: str) -> str:
    """Return the JSON of a checked tree."""
    try:
        return to_json(node)
    except ValueError as error:
        raise Unserialisable(
            path="value",
            value_type=type(node).__qualname__,
            message=f"{what} can't be stored: {error}.",
        ) from error


def within(text: str, *, what: str, limit: int) -> str:
    """Return JSON *text* if it takes at most *limit* bytes; 0 allows any size."""
    if 0 < limit < len(text):  # the text is ASCII, so a character is a byte
        raise PayloadTooLarge(path=what, size=len(text), limit=limit)
    return text

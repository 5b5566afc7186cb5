"""Enumerations and literals: read back by value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, Flag
from typing import Any

from saga_flow.serialization.encoding import Allowed, Refused, to_node
from saga_flow.serialization.mismatch import Decoder, Mismatch
from saga_flow.serialization.text import to_json


def enum_decoder(kind: type[Enum]) -> Decoder:
    """Return the decoder to the member of *kind* with the stored value."""
    members = _by_text(kind)

    def decode(node: Any) -> Any:
        member = members.get(to_json(node))
        if member is not None:
            return member
        if issubclass(kind, Flag) and type(node) is int:
            return _flags(kind, node)
        raise Mismatch(kind, node, "it is the value of no member")

    return decode


def literal_decoder(annotation: Any, choices: tuple[Any, ...]) -> Decoder:
    """Return the decoder to one of the *choices* of a Literal."""
    values = _by_text(choices)
    # None is a choice like any other, so a missing one needs its own mark.
    missing = object()

    def decode(node: Any) -> Any:
        value = values.get(to_json(node), missing)
        if value is missing:
            raise Mismatch(annotation, node, "it is none of these")
        return value

    return decode


def _by_text(values: Iterable[Any]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    for value in values:
        try:
            texts[to_json(to_node(value, Allowed()))] = value
        except Refused:
            continue  # a member that can't be stored is never read back
    return texts


def _flags(kind: type[Flag], value: int) -> Flag:
    try:
        return kind(value)
    except ValueError as error:
        raise Mismatch(kind, value, str(error)) from error

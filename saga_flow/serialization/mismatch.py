"""A stored tree that doesn't fit its annotation, and where it doesn't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from saga_flow.serialization.markers import is_marker

Decoder = Callable[[Any], Any]
DecoderFor = Callable[[Any], Decoder]

_JSON_NAMES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class Mismatch(Exception):
    """A tree doesn't fit; containers add their segment on the way out."""

    def __init__(self, annotation: Any, node: Any, reason: str = "") -> None:
        self.annotation, self.node, self.reason = annotation, node, reason
        self.segments: list[str] = []
        super().__init__(reason)

    def __str__(self) -> str:
        told = f" ({self.reason})" if self.reason else ""
        return f"{json_name(self.node)}, where {shown(self.annotation)} is read{told}"


def json_name(node: Any) -> str:
    """Return what JSON calls the kind of *node*."""
    return _JSON_NAMES[type(node)]


def shown(annotation: Any) -> str:
    """Return *annotation* as an author would write it."""
    if isinstance(annotation, type) and not hasattr(annotation, "__origin__"):
        return annotation.__qualname__
    return str(annotation).removeprefix("typing.")


def object_node(node: Any, annotation: Any) -> dict[str, Any]:
    """Return *node* if it is an object that stands for itself."""
    if type(node) is not dict or is_marker(node):
        raise Mismatch(annotation, node)
    return node


def array_node(node: Any, annotation: Any) -> list[Any]:
    """Return *node* if it is an array."""
    if type(node) is not list:
        raise Mismatch(annotation, node)
    return node

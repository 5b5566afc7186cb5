"""
Values that nobody is shown: which they are, and texts without them.

A place is the index of a positional argument or the stored name of another one, so
that a row can be shown without the code that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Parameter
from typing import Any, Final

from django.db.models import Model

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization.arguments import Arguments, signature_of
from saga_flow.serialization.markers import MODEL, RESULT, escaped
from saga_flow.serialization.text import to_json, tree_of

HIDDEN: Final = "[redacted]"
Place = int | str
Hide = Callable[[str], str]

_PLAIN_MATCH: Final = 4
"""Texts as long as this are found inside of words, too."""


def places(
    function: Callable[..., Any], arguments: Arguments, names: Collection[str]
) -> tuple[Place, ...]:
    """Return where the arguments called *names* stand in a call of *function*."""
    if not names:
        return ()
    parameters = signature_of(function).parameters
    rest = [p.name for p in parameters.values() if p.kind is Parameter.VAR_KEYWORD]
    by_index = (name.partition("[")[0] in names for name in arguments.names)
    return (
        *(index for index, hidden in enumerate(by_index) if hidden),
        *(
            escaped(key)
            for key in arguments.kwargs
            if (key if key in parameters else rest[0]) in names
        ),
    )


def carried(
    undo: str, step: str, hidden: Iterable[Place], *, result: bool
) -> tuple[Place, ...]:
    """
    Return the places in the arguments of an *undo* that pass on what *step* hides.

    These are arguments that hold a hidden one's value and, where the *result* is
    hidden, RESULT.
    """
    own = dict(_parts(tree_of(step)))
    secret = [to_json(own[place]) for place in hidden if place in own]
    return tuple(
        place
        for place, node in _parts(tree_of(undo))
        if any(_holds(node, each) for each in secret)
        or (result and f'"{RESULT}"' in to_json(node))
    )


def _holds(node: Any, secret: str) -> bool:
    if to_json(node) == secret:
        return True
    inner: Iterable[Any] = ()
    if isinstance(node, dict):
        inner = node.values()
    elif isinstance(node, list):
        inner = node
    return any(_holds(each, secret) for each in inner)


def masked(stored: str, hidden: Collection[Place]) -> str:
    """
    Return stored arguments as JSON, with HIDDEN for what stands at these places.

    Text that is not of that shape is hidden as a whole.
    """
    if not hidden:
        return stored
    try:
        tree = tree_of(stored, what="arguments")
        shown = {
            "args": [
                HIDDEN if index in hidden else node
                for index, node in enumerate(tree["args"])
            ],
            "kwargs": {
                key: HIDDEN if key in hidden else node
                for key, node in tree["kwargs"].items()
            },
        }
    except (PayloadNotDecodable, KeyError, TypeError, AttributeError):
        return to_json(HIDDEN)
    return to_json(shown)


def hider(stored: str, hidden: Collection[Place], values: Iterable[Any] = ()) -> Hide:
    """
    Return what takes hidden arguments out of a text, such as an error's message.

    *stored* are the arguments as they stand in the row; *values* are hidden ones as
    the body got them, whose text may look different.
    """
    try:
        parts = dict(_parts(tree_of(stored, what="arguments")))
    except (PayloadNotDecodable, KeyError, TypeError, AttributeError):
        parts = {}
    found = {text for place in hidden for text in _texts(parts.get(place))}
    found.update(text for value in values for text in _texts(value))
    found.discard("")
    if not found:
        return lambda text: text
    longest_first = sorted(found, key=len, reverse=True)
    pattern = re.compile("|".join(map(_pattern, longest_first)))
    return lambda text: pattern.sub(HIDDEN, text)


def _pattern(text: str) -> str:
    quoted = re.escape(text)
    return quoted if len(text) >= _PLAIN_MATCH else rf"(?<!\w){quoted}(?!\w)"


def _parts(tree: Any) -> Iterator[tuple[Place, Any]]:
    yield from enumerate(tree["args"])
    yield from tree["kwargs"].items()


def _texts(value: Any) -> Iterator[str]:
    """How each part of a value may be written in a message."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, Model):
        value = value.pk
    for inner in _inner(value):
        yield from _texts(inner)
    if value is not None and not isinstance(value, bool | Mapping | list | tuple):
        yield from _written(value)


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        # the label of a model and its alias are no secrets, and are words like others
        return [value["pk"]] if MODEL in value and "pk" in value else value.values()
    if isinstance(value, list | tuple):
        return value
    if is_dataclass(value):
        return [getattr(value, field.name, None) for field in fields(value)]
    return ()


def _written(value: Any) -> Iterator[str]:
    try:
        text, shown = str(value), repr(value)
    except Exception:  # noqa: BLE001 - both are anybody's code
        return
    yield from (text, shown)
    if isinstance(value, str):
        yield from (shown[1:-1], to_json(value)[1:-1])

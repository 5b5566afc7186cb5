"""Facts about a run that are kept for people, and what brings them about."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from saga_flow import structural
from saga_flow.exceptions import DefinitionError, InvalidName
from saga_flow.names import changed_tags, line
from saga_flow.serialization import encode


def memo(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* if they can be stored; Unserialisable names what can't."""
    encode(dict(values), what="memo", limit=0)
    return dict(values)


def memo_text(values: object) -> str:
    """Return the memo that a run begins with, as it is stored."""
    if not isinstance(values, Mapping):
        raise DefinitionError(
            f"memo is of type {type(values).__name__}; it takes a dict of JSON values."
        )
    for key in values:
        if not line(key, what="a key of memo"):
            raise InvalidName("A key of memo is empty; it takes 1 to 191 characters.")
    said = {key: value for key, value in values.items() if value is not None}
    text = encode(said, what="memo", limit=0)
    structural.check("MAX_MEMO_BYTES", 0, len(text), what="The bytes of the memo")
    return text


def labels(of_class: Mapping[str, str], of_start: object) -> dict[str, str]:
    """
    Return the tags that a run begins with: its class's, changed by its start.

    None takes one away. Raises LimitExceeded for more than the settings allow.
    """
    merged = {**of_class, **changed_tags(of_start)}
    found = {key: value for key, value in merged.items() if value is not None}
    structural.check("MAX_TAGS", 0, len(found), what="The tags")
    return found


def text(value: object, *, what: str) -> str:
    """Return *value* if it is a str."""
    if not isinstance(value, str):
        raise DefinitionError(
            f"{what} takes a str, not {value!r} of type {type(value).__name__}."
        )
    return value


def check_factory(fn: object) -> None:
    """Raise DefinitionError unless *fn* can be called for a value, here and now."""
    if not callable(fn):
        raise DefinitionError(
            f"side_effect() takes a function without arguments, not {fn!r}; wrap the "
            "value: side_effect(key, lambda: ...)."
        )
    if inspect.iscoroutinefunction(fn):
        raise DefinitionError(
            f"side_effect() can't await {fn!r}; write an action for what is async."
        )

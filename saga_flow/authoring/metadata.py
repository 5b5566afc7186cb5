"""Facts about a run that are kept for people, and what brings them about."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from saga_flow import conf
from saga_flow.exceptions import DefinitionError
from saga_flow.serialization import encode


def memo(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* if they can be stored; Unserialisable names what can't."""
    memo_text(values)
    return dict(values)


def memo_text(values: object) -> str:
    """Return a memo as it is stored."""
    if not isinstance(values, Mapping):
        raise DefinitionError(
            f"memo is of type {type(values).__name__}; it takes a dict of JSON values."
        )
    return encode(dict(values), what="memo", limit=conf.get().MAX_PAYLOAD_BYTES)


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

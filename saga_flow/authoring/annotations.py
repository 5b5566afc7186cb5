"""What a signature says of the values that cross it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from inspect import Parameter
from typing import Any

from saga_flow.exceptions import DefinitionError
from saga_flow.serialization.arguments import signature_of
from saga_flow.serialization.mismatch import Mismatch
from saga_flow.serialization.records import hints_of


def returned(function: Callable[..., Any], *, what: str) -> Any:
    """
    Return the annotation of what *function* returns; Any where there is none.

    A class makes instances of itself. Raises DefinitionError for annotations that
    can't be resolved.
    """
    called = inspect.unwrap(function)
    while isinstance(called, partial):
        called = called.func
    if inspect.isclass(called):
        return called
    if not inspect.isroutine(called):
        called = type(called).__call__
    try:
        return hints_of(called).get("return", Any)
    except Mismatch as mismatch:
        raise DefinitionError(f"{what} can't be used: {mismatch.reason}.") from mismatch


@lru_cache(maxsize=2048)
def result_of(function: Callable[..., Any], name: str) -> Any:
    """Return what :func:`returned` does, remembered: for functions that stay."""
    return returned(function, what=name)


def contract(handle: Callable[..., Any], signals: Mapping[str, Any]) -> str:
    """Return, as JSON, what a workflow takes: for callers that lack its code."""
    parameters = signature_of(handle, skip_self=True).parameters.values()
    facts = {
        "parameters": [_parameter(each) for each in parameters],
        "signals": {name: {"type": _named(signals[name])} for name in sorted(signals)},
    }
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def _parameter(parameter: Parameter) -> dict[str, Any]:
    bare = parameter.annotation is Parameter.empty
    return {
        "name": parameter.name,
        "kind": parameter.kind.name.lower(),
        "required": parameter.default is Parameter.empty
        and parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD),
        "type": _named(Any if bare else parameter.annotation),
    }


def _named(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return inspect.formatannotation(annotation)

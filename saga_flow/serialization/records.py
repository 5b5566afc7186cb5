"""Classes with named parts: dataclasses, TypedDict, NamedTuple, pydantic models."""

from __future__ import annotations

import dataclasses
import sys
import typing
from dataclasses import MISSING, dataclass
from functools import lru_cache, partial
from typing import Any

from saga_flow.serialization.encoding import is_pydantic
from saga_flow.serialization.markers import segment, unescaped
from saga_flow.serialization.mismatch import (
    Decoder,
    DecoderFor,
    Mismatch,
    array_node,
    object_node,
)
from saga_flow.serialization.text import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The named parts of a class, in order."""

    decoders: dict[str, Decoder]
    required: frozenset[str]
    computed: frozenset[str] = frozenset()
    """Fields that ``__init__`` does not take."""


def record_decoder(
    kind: Any, args: tuple[Any, ...], decoder_for: DecoderFor
) -> Decoder | None:
    """
    Return the decoder of a class with named parts, or None for any other class.

    *args* are the type arguments of a generic one. Parts are looked up when first
    needed, because a record may contain itself.
    """
    if not isinstance(kind, type):
        return None
    if dataclasses.is_dataclass(kind):
        return lambda node: _dataclass(kind, args, node, decoder_for)
    if typing.is_typeddict(kind):
        return lambda node: _typed_dict(kind, args, node, decoder_for)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return lambda node: _named_tuple(kind, node, decoder_for)
    return partial(_pydantic, kind) if is_pydantic(kind) else None


def _dataclass(
    kind: type, args: tuple[Any, ...], node: Any, decoder_for: DecoderFor
) -> Any:
    parts = _dataclass_parts(kind, args, decoder_for)
    values = _values(kind, parts, object_node(node, kind))
    given = {key: item for key, item in values.items() if key not in parts.computed}
    record = _made(kind, node, given)
    for name in parts.computed & values.keys():
        # What was recorded wins over what today's code would compute; a frozen
        # dataclass takes it in no other way.
        object.__setattr__(record, name, values[name])
    return record


def _made(kind: Any, node: Any, given: dict[str, Any]) -> Any:
    try:
        return kind(**given)
    except Exception as error:  # __post_init__ is the author's code
        reason = f"making it raised {type(error).__name__}: {error}"
        raise Mismatch(kind, node, reason) from error


def _typed_dict(
    kind: type, args: tuple[Any, ...], node: Any, decoder_for: DecoderFor
) -> dict[str, Any]:
    parts = _typed_dict_parts(kind, args, decoder_for)
    stored = object_node(node, kind)
    return _values(kind, parts, {unescaped(key): stored[key] for key in stored})


def _named_tuple(kind: Any, node: Any, decoder_for: DecoderFor) -> Any:
    nodes = array_node(node, kind)
    hints = hints_of(kind)
    if len(nodes) != len(kind._fields):
        raise Mismatch(kind, node, f"it has {len(nodes)} items")
    values = []
    for name, item in zip(kind._fields, nodes, strict=True):
        values.append(_value(name, decoder_for(hints.get(name, Any)), item))
    return kind(*values)


def _pydantic(kind: Any, node: Any) -> Any:
    pydantic = sys.modules["pydantic"]
    options = {"by_alias": True, "by_name": True} if _knows_by_name(pydantic) else {}
    try:
        # From JSON rather than from dicts, so that strict models take their texts.
        return kind.model_validate_json(to_json(_without_escapes(node)), **options)
    except Exception as error:  # validators are the author's code
        reason = f"validating it raised {type(error).__name__}: {error}"
        raise Mismatch(kind, node, reason) from error


def _knows_by_name(pydantic: Any) -> bool:
    major, minor = pydantic.VERSION.split(".")[:2]
    return (int(major), int(minor)) >= (2, 11)


def _without_escapes(node: Any) -> Any:
    if type(node) is list:
        return [_without_escapes(item) for item in node]
    if type(node) is not dict:
        return node
    return {unescaped(key): _without_escapes(item) for key, item in node.items()}


def _values(kind: Any, parts: _Parts, stored: dict[str, Any]) -> dict[str, Any]:
    if unknown := stored.keys() - parts.decoders.keys():
        raise Mismatch(kind, stored, f"it has no {_names(unknown)}")
    if missing := parts.required - stored.keys():
        raise Mismatch(kind, stored, f"{_names(missing)} is missing")
    return {
        name: _value(name, parts.decoders[name], item) for name, item in stored.items()
    }


def _value(name: str, decode: Decoder, node: Any) -> Any:
    try:
        return decode(node)
    except Mismatch as mismatch:
        mismatch.segments.append(segment(name))
        raise


def _names(names: set[str] | frozenset[str]) -> str:
    return " and ".join(repr(name) for name in sorted(names))


@lru_cache(maxsize=1024)
def _dataclass_parts(
    kind: Any, args: tuple[Any, ...], decoder_for: DecoderFor
) -> _Parts:
    hints = _with_arguments(kind, args)
    fields = dataclasses.fields(kind)
    return _Parts(
        decoders={field.name: decoder_for(hints[field.name]) for field in fields},
        required=frozenset(
            field.name
            for field in fields
            if field.init and field.default is field.default_factory is MISSING
        ),
        computed=frozenset(field.name for field in fields if not field.init),
    )


@lru_cache(maxsize=1024)
def _typed_dict_parts(
    kind: Any, args: tuple[Any, ...], decoder_for: DecoderFor
) -> _Parts:
    hints = _with_arguments(kind, args)
    # __required_keys__ can't see through annotations that are still text.
    marks = {name: typing.get_origin(hint) for name, hint in hints.items()}
    return _Parts(
        decoders={name: decoder_for(hint) for name, hint in hints.items()},
        required=frozenset(
            name
            for name, mark in marks.items()
            if mark is typing.Required
            or (name in kind.__required_keys__ and mark is not typing.NotRequired)
        ),
    )


def hints_of(owner: Any) -> dict[str, Any]:
    """Return the annotations of a function or class, resolved."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise Mismatch(
            owner,
            None,
            f"its annotations can't be resolved: {error}; import the name at run time, "
            "not under TYPE_CHECKING only",
        ) from error


def _with_arguments(kind: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the hints of a class with its type variables filled in."""
    filled = dict(zip(getattr(kind, "__parameters__", ()), args, strict=False))
    return {name: filled_in(hint, filled) for name, hint in hints_of(kind).items()}


def filled_in(hint: Any, filled: dict[Any, Any]) -> Any:
    """Return *hint* with its type variables filled in."""
    if not filled:
        return hint
    if isinstance(hint, typing.TypeVar):
        return filled.get(hint, hint)
    wanted = getattr(hint, "__parameters__", ())
    if not wanted or isinstance(hint, type):
        return hint
    return hint[tuple(filled.get(parameter, parameter) for parameter in wanted)]

"""From a JSON tree to the value that an annotation asks for."""

from __future__ import annotations

import collections.abc as abc
import types
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Any, Final

from django.db.models import Model

from saga_flow.serialization import references
from saga_flow.serialization.choices import enum_decoder, literal_decoder
from saga_flow.serialization.markers import MODEL, RESULT, segment, unescaped
from saga_flow.serialization.mismatch import Decoder, Mismatch, array_node, object_node
from saga_flow.serialization.records import filled_in, record_decoder
from saga_flow.serialization.scalars import READERS
from saga_flow.serialization.unions import union_decoder

_ANYTHING: Final = (Any, object, typing.NoReturn, typing.Never)
_WRAPPERS: Final = tuple(
    getattr(typing, name)
    for name in ("Annotated", "Required", "NotRequired", "ReadOnly", "Final")
    if hasattr(typing, name)  # ReadOnly is of Python 3.13
)
_SEQUENCES: Final = (
    list,
    abc.Sequence,
    abc.MutableSequence,
    abc.Collection,
    abc.Iterable,
    abc.Reversible,
    abc.Container,
)
_MAPPINGS: Final = (dict, abc.Mapping, abc.MutableMapping)
_SETS: Final = (set, frozenset, abc.Set, abc.MutableSet)


def decoder_for(annotation: Any) -> Decoder:
    """
    Return the function that turns a JSON tree into a value of *annotation*.

    It raises Mismatch for a tree that doesn't fit; so does this function, for an
    annotation that no stored value can be read back by.
    """
    try:
        return _cached(annotation)
    except TypeError:  # Annotated[...] may carry metadata that has no hash
        return _build(annotation)


@lru_cache(maxsize=4096)
def _cached(annotation: Any) -> Decoder:
    return _build(annotation)


def _build(annotation: Any) -> Decoder:
    for make in (_simple, _special, _generic, _by_class):
        decoder = make(annotation)
        if decoder is not None:
            return decoder
    raise Mismatch(annotation, None, _unreadable(annotation))


def _unreadable(annotation: Any) -> str:
    origin = typing.get_origin(annotation) or annotation
    if origin in _SETS:
        return "sets have no JSON form; annotate it as a list"
    if isinstance(annotation, str | typing.ForwardRef):
        return "this name can't be resolved; import it at run time"
    return "no stored value is read back by this type; annotate it with a legal one"


def plain(node: Any) -> Any:
    """Return a stored tree as plain JSON values, its references followed."""
    if type(node) is list:
        return [plain(item) for item in node]
    if type(node) is not dict:
        return node
    if MODEL in node:
        return references.load(node)
    if RESULT in node:
        raise Mismatch(Any, node, "it holds a RESULT that was never filled in")
    return {unescaped(key): plain(item) for key, item in node.items()}


# ------------------------------------------------------------------- scalars


def _simple(annotation: Any) -> Decoder | None:
    try:
        return _SIMPLE.get(annotation)
    except TypeError:
        return None


def _none(node: Any) -> None:
    if node is not None:
        raise Mismatch(None, node)


def _exactly(kind: type) -> Decoder:
    def decode(node: Any) -> Any:
        if type(node) is not kind:
            raise Mismatch(kind, node)
        return node

    return decode


def _float(node: Any) -> float:
    if type(node) is float:
        return node
    if type(node) is not int:
        raise Mismatch(float, node)
    try:
        value = float(node)
    except OverflowError:
        value = 0.0
    if value != node:
        raise Mismatch(float, node, "no float is equal to it; annotate it as an int")
    return value


def _reader(kind: type, read: Callable[[str], Any]) -> Decoder:
    def decode(node: Any) -> Any:
        if type(node) is not str:
            raise Mismatch(kind, node)
        try:
            return read(node)
        except (ValueError, ArithmeticError) as error:
            raise Mismatch(kind, node, str(error)) from error

    return decode


def _decimal(node: Any) -> Decimal:
    # An integer loses nothing as a Decimal; a float would.
    return Decimal(node) if type(node) is int else _decimal_text(node)


_decimal_text: Final = _reader(Decimal, READERS[Decimal])


# --------------------------------------------------------------- typing forms


def _special(annotation: Any) -> Decoder | None:
    if isinstance(annotation, typing.TypeVar | typing.ParamSpecArgs):
        return plain
    if isinstance(annotation, typing.ParamSpecKwargs):
        return plain
    if isinstance(annotation, typing.NewType):
        return decoder_for(annotation.__supertype__)
    if hasattr(annotation, "__value__"):  # a `type` statement
        return _alias(annotation)
    return None


def _alias(annotation: Any) -> Decoder:
    alias = typing.get_origin(annotation) or annotation
    filled = dict(zip(alias.__type_params__, typing.get_args(annotation), strict=False))

    def decode(node: Any) -> Any:
        # Not before it is needed: a `type` statement may name itself.
        return decoder_for(filled_in(alias.__value__, filled))(node)

    return decode


def _generic(annotation: Any) -> Decoder | None:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return union_decoder(args, decoder_for)
    if origin is typing.Literal:
        return literal_decoder(annotation, args)
    if origin in _WRAPPERS:
        return decoder_for(args[0])
    return _container(annotation, origin, args) if origin else None


def _is_bare(annotation: Any, args: tuple[Any, ...]) -> bool:
    # typing.List without an argument has an origin all the same; tuple[()] is not bare.
    return not args and not isinstance(annotation, types.GenericAlias)


def _container(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Decoder | None:
    if _is_bare(annotation, args):
        return decoder_for(origin)
    if origin is tuple:
        return _tuple(annotation, args)
    if origin in _SEQUENCES:
        return _list(annotation, decoder_for(args[0]))
    if origin in _MAPPINGS:
        return _dict(annotation, decoder_for(args[0]), decoder_for(args[1]))
    return record_decoder(origin, args, decoder_for)


# ----------------------------------------------------------------- containers


def _list(annotation: Any, item_of: Decoder) -> Decoder:
    def decode(node: Any) -> list[Any]:
        return _items(array_node(node, annotation), item_of)

    return decode


def _items(nodes: list[Any], item_of: Decoder) -> list[Any]:
    values: list[Any] = []
    try:
        for node in nodes:
            values.append(item_of(node))  # noqa: PERF401 - its length is the index below
    except Mismatch as mismatch:
        mismatch.segments.append(segment(len(values)))
        raise
    return values


def _tuple(annotation: Any, args: tuple[Any, ...]) -> Decoder:
    if len(args) == 2 and args[1] is Ellipsis:
        item_of = decoder_for(args[0])
        return lambda node: tuple(_items(array_node(node, annotation), item_of))
    item_decoders = [decoder_for(arg) for arg in args]

    def decode(node: Any) -> tuple[Any, ...]:
        nodes = array_node(node, annotation)
        if len(nodes) != len(item_decoders):
            raise Mismatch(annotation, node, f"it has {len(nodes)} items")
        values: list[Any] = []
        try:
            for item_of, item in zip(item_decoders, nodes, strict=True):
                values.append(item_of(item))
        except Mismatch as mismatch:
            mismatch.segments.append(segment(len(values)))
            raise
        return tuple(values)

    return decode


def _dict(annotation: Any, key_of: Decoder, item_of: Decoder) -> Decoder:
    def decode(node: Any) -> dict[Any, Any]:
        values = {}
        for stored, item in object_node(node, annotation).items():
            key = unescaped(stored)
            try:
                values[key_of(key)] = item_of(item)
            except Mismatch as mismatch:
                mismatch.segments.append(segment(key))
                raise
        return values

    return decode


# -------------------------------------------------------------------- classes


def _by_class(annotation: Any) -> Decoder | None:
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, Enum):
        return enum_decoder(annotation)
    if issubclass(annotation, Model):
        return _model(annotation)
    return record_decoder(annotation, (), decoder_for)


def _model(model: type[Model]) -> Decoder:
    def decode(node: Any) -> Model:
        if type(node) is not dict or MODEL not in node:
            raise Mismatch(model, node, "a model is read back from a reference only")
        if not issubclass(references.model_named(node[MODEL]), model):
            raise Mismatch(model, node, f"it refers to a {node[MODEL]}")
        return references.load(node)

    return decode


_SIMPLE: Final[Mapping[Any, Decoder]] = {
    **dict.fromkeys(_ANYTHING, plain),
    **{kind: _exactly(kind) for kind in (bool, int, str)},
    **{kind: _reader(kind, read) for kind, read in READERS.items()},
    **{kind: _list(kind, plain) for kind in _SEQUENCES},
    **{kind: _dict(kind, _exactly(str), plain) for kind in _MAPPINGS},
    Decimal: _decimal,
    None: _none,
    NoneType: _none,
    float: _float,
    tuple: lambda node: tuple(_items(array_node(node, tuple), plain)),
    typing.LiteralString: _exactly(str),
}

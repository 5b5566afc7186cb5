"""
Which member of a union a stored tree belongs to.

Python forgets the order of a union's members (``int | str == str | int``, and typing
caches by equality), so the order written never decides. A member fits *exactly* when
its value would be stored as this very tree; exact members win over those that merely
accept it (an int for a float). Among them the narrower kind wins: literals and
enumerations, then records and kinds of an unmistakable form, then Decimal and lists,
then tuples and dicts, then bytes, then str, then Any. Two different values of equal
rank are refused: a guess could be wrong, and nobody would see it.
"""

from __future__ import annotations

import collections.abc as abc
import types
import typing
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, Final

from saga_flow.serialization.encoding import Allowed, Refused, to_node
from saga_flow.serialization.mismatch import Decoder, DecoderFor, Mismatch, shown

_EVERYTHING: Final = Allowed(models=True)
_RANKS: Final[dict[Any, int]] = {
    typing.Literal: 0,
    Decimal: 2,
    typing.Union: 2,
    types.UnionType: 2,
    list: 2,
    abc.Sequence: 2,
    tuple: 3,
    dict: 3,
    abc.Mapping: 3,
    bytes: 4,
    str: 5,
    Any: 6,
    object: 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    annotation: Any
    decode: Decoder
    rank: int


def union_decoder(args: tuple[Any, ...], decoder_for: DecoderFor) -> Decoder:
    """Return the decoder of ``A | B | …``."""
    members = [arg for arg in args if arg is not NoneType]
    optional = len(members) < len(args)
    if len(members) == 1:
        return _optional(decoder_for(members[0]))
    decode = _among(
        [
            _Member(annotation=member, decode=decoder_for(member), rank=_rank(member))
            for member in members
        ]
    )
    return _optional(decode) if optional else decode


def _optional(inner: Decoder) -> Decoder:
    return lambda node: None if node is None else inner(node)


def _rank(annotation: Any) -> int:
    if isinstance(annotation, typing.NewType):
        return _rank(annotation.__supertype__)
    if hasattr(annotation, "__value__"):  # a `type` statement
        return _rank(annotation.__value__)
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _rank(typing.get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return 0
    if isinstance(annotation, typing.TypeVar):
        return _RANKS[Any]
    return _RANKS.get(origin or annotation, 1)


def _among(members: list[_Member]) -> Decoder:
    def decode(node: Any) -> Any:
        fitting = [found for member in members if (found := _try(member, node))]
        if not fitting:
            names = " | ".join(shown(member.annotation) for member in members)
            raise Mismatch(typing.Union, node, f"it fits none of {names}")
        exact = [found for found in fitting if _is_exact(found[1], node)]
        return _narrowest(exact or fitting, node)

    return decode


def _try(member: _Member, node: Any) -> tuple[_Member, Any] | None:
    try:
        return member, member.decode(node)
    except Mismatch:
        return None


def _is_exact(value: Any, node: Any) -> bool:
    try:
        return _same(to_node(value, _EVERYTHING), node)
    except Refused:
        return False


def _same(one: Any, other: Any) -> bool:
    """Compare trees as JSON does: 1, 1.0 and true are three values."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(
            _same(one[key], other[key]) for key in one
        )
    if type(one) is list:
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _narrowest(found: list[tuple[_Member, Any]], node: Any) -> Any:
    best = min(member.rank for member, _ in found)
    tied = [(member, value) for member, value in found if member.rank == best]
    value = tied[0][1]
    if all(type(other) is type(value) and other == value for _, other in tied):
        return value
    names = " and ".join(shown(member.annotation) for member, _ in tied)
    raise Mismatch(
        typing.Union,
        node,
        f"it fits {names} equally; give each a Literal field that tells them apart",
    )

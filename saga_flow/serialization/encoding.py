"""From a value to a JSON tree, or a refusal that names the place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Any, Final

from django.db.models import Model

from saga_flow.serialization import references
from saga_flow.serialization.markers import RESULT, escaped, segment
from saga_flow.serialization.result import ResultReference
from saga_flow.serialization.scalars import WRITERS

MAX_DEPTH: Final = 100
"""How many containers may stand inside one another."""

_MAX_INT_BITS: Final = 14_280  # below 4,300 digits, the most that Python reads back
_ATOMS: Final = frozenset({NoneType, bool, int, float, str})
_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LEGAL: Final = (
    "Legal are None, bool, int, finite float, str, list, tuple, dict with str keys, "
    "aware datetime, date, time, timedelta, Decimal, UUID, Enum, bytes, dataclasses "
    "and pydantic models"
)


class Refused(Exception):
    """A value can't be stored; containers add their segment on the way out."""

    def __init__(self, value: object, reason: str) -> None:
        self.value_type = type(value).__qualname__
        self.reason = reason
        self.segments: list[str] = []
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Which values are legal here beyond those that are legal everywhere."""

    models: bool = False
    """Model instances, as references."""
    result: bool = False
    """RESULT, in the arguments of an undo."""


class Unset:
    """The value of a dataclass field that has none."""


_UNSET: Final = Unset()
_Converter = Callable[[Any, Allowed, int], Any]


def is_plain(value: object, room: int = MAX_DEPTH) -> bool:
    """Tell whether *value* is its own JSON tree, so that it needs no conversion."""
    kind = type(value)
    if kind is dict:
        return room > 0 and _is_plain_dict(value, room - 1)  # type: ignore[arg-type] # narrowed by kind
    if kind is list:
        return room > 0 and _is_plain_list(value, room - 1)  # type: ignore[arg-type] # narrowed by kind
    return kind in _ATOMS


def _is_plain_dict(value: dict[Any, object], room: int) -> bool:
    for key, item in value.items():
        if type(key) is not str or key[:1] == "$":
            return False
        if type(item) not in _ATOMS and not is_plain(item, room):
            return False
    return True


def _is_plain_list(value: list[object], room: int) -> bool:
    for item in value:
        if type(item) not in _ATOMS and not is_plain(item, room):
            return False
    return True


def to_node(value: object, allowed: Allowed, depth: int = 0) -> Any:
    """Return the JSON tree of *value*; raises Refused."""
    kind: Any = type(value)  # a metaclass may hide that it has a hash
    convert: _Converter = _converter(kind)
    return convert(value, allowed, depth)


@lru_cache(maxsize=1024)
def _converter(kind: type[Any]) -> _Converter:
    if is_dataclass(kind) and not issubclass(kind, Enum):
        return _dataclass
    if is_pydantic(kind):
        return _pydantic
    matches = (convert for base, convert in _BASES if issubclass(kind, base))
    return next(matches, _unknown)


def is_pydantic(kind: type) -> bool:
    """Tell whether *kind* is a pydantic model; imports nothing."""
    # A class can only be one of pydantic's if something has imported pydantic.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)


def _same(value: Any, _allowed: Allowed, _depth: int) -> Any:
    return value


def _int(value: int, _allowed: Allowed, _depth: int) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise Refused(value, "it has more than 4,000 digits; pass it as bytes")
    return int.__int__(value)


def _float(value: float, _allowed: Allowed, _depth: int) -> float:
    plain = float.__float__(value)
    if plain - plain != 0.0:
        raise Refused(
            value, f"{plain} is not finite, and JSON has finite numbers only; pass None"
        )
    return plain


def _str(value: str, _allowed: Allowed, _depth: int) -> str:
    if not value.isascii() and _SURROGATE_PAIR.search(value):
        raise Refused(
            value,
            "it holds one character as two surrogates; join them with "
            "value.encode('utf-16', 'surrogatepass').decode('utf-16')",
        )
    return str.__str__(value)


def _text(value: Any, _allowed: Allowed, _depth: int) -> str:
    for kind, write in WRITERS.items():
        if isinstance(value, kind):
            try:
                return write(value)
            except ValueError as error:
                raise Refused(value, str(error)) from None
    raise AssertionError(f"{type(value)} has no text form")


def _deeper(value: object, depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise Refused(
            value,
            f"it is nested deeper than {MAX_DEPTH} levels, or contains itself; "
            "pass a flatter value",
        )
    return depth + 1


def _list(value: Any, allowed: Allowed, depth: int) -> list[Any]:
    depth = _deeper(value, depth)
    nodes = []
    for index, item in enumerate(value):
        try:
            nodes.append(to_node(item, allowed, depth))
        except Refused as refused:
            refused.segments.append(segment(index))
            raise
    return nodes


def _dict(value: dict[Any, Any], allowed: Allowed, depth: int) -> dict[str, Any]:
    depth = _deeper(value, depth)
    node = {}
    for key, item in value.items():
        name = _key(value, key)
        try:
            node[escaped(name)] = to_node(item, allowed, depth)
        except Refused as refused:
            refused.segments.append(segment(name))
            raise
    return node


def _key(owner: dict[Any, Any], key: object) -> str:
    name = key.value if isinstance(key, Enum) else key
    if not isinstance(name, str):
        kind = type(key).__qualname__
        raise Refused(
            owner, f"it has a key of type {kind}; JSON keys are str: convert the keys"
        )
    return _str(name, Allowed(), 0)


def _enum(value: Enum, allowed: Allowed, depth: int) -> Any:
    try:
        return to_node(value.value, allowed, depth)
    except Refused as refused:
        refused.segments.append(segment("value"))
        raise


def _dataclass(value: Any, allowed: Allowed, depth: int) -> dict[str, Any]:
    depth = _deeper(value, depth)
    node = {}
    for field in fields(value):
        try:
            part = getattr(value, field.name, _UNSET)
            node[field.name] = to_node(part, allowed, depth)
        except Refused as refused:
            refused.segments.append(segment(field.name))
            raise
    return node


def _pydantic(value: Any, _allowed: Allowed, depth: int) -> Any:
    try:
        # By field name and without computed fields: what validation takes back.
        dumped = value.model_dump(mode="json", by_alias=False, round_trip=True)
    except Exception as error:  # serializers of a model are the author's code
        raise Refused(value, f"its model_dump raised {_said(error)}") from error
    return to_node(dumped, Allowed(), depth)


def _model(value: Model, allowed: Allowed, _depth: int) -> dict[str, object]:
    if not allowed.models:
        raise Refused(
            value,
            "model instances are legal as arguments of an action only; pass its key",
        )
    if not references.is_saved(value):
        raise Refused(value, "it is not saved, so nothing can refer to it; save it")
    return references.reference(value, to_node(value.pk, Allowed()))


def _result(value: ResultReference, allowed: Allowed, _depth: int) -> dict[str, Any]:
    if not allowed.result:
        raise Refused(
            value, "RESULT stands in the arguments of an undo only (compensate_with)"
        )
    return {RESULT: list(value.path)}


def _never_set(value: object, _allowed: Allowed, _depth: int) -> Any:
    raise Refused(value, "the field was never set; give it a default")


def _set(value: object, _allowed: Allowed, _depth: int) -> Any:
    raise Refused(value, "sets have no order and no JSON form; pass sorted(value)")


def _mutable_bytes(value: object, _allowed: Allowed, _depth: int) -> Any:
    raise Refused(value, "pass bytes(value)")


def _unknown(value: object, _allowed: Allowed, _depth: int) -> Any:
    if isinstance(value, type):
        raise Refused(value, f"a class can't be stored; pass its name. {_LEGAL}")
    if callable(value):
        raise Refused(value, f"code can't be stored; pass data. {_LEGAL}")
    raise Refused(value, f"this type has no JSON form; convert it first. {_LEGAL}")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# The order matters: an enumeration may also be a str.
_BASES: Final[tuple[tuple[type | tuple[type, ...], _Converter], ...]] = (
    (Enum, _enum),
    (Model, _model),
    ((NoneType, bool), _same),
    (str, _str),
    (int, _int),
    (float, _float),
    (dict, _dict),
    ((list, tuple), _list),
    (tuple(WRITERS), _text),
    (ResultReference, _result),
    (Unset, _never_set),
    ((set, frozenset), _set),
    ((bytearray, memoryview), _mutable_bytes),
)

"""Table rows into records, with one statement each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from django.db import models

from saga_flow.queries.payloads import json_object
from saga_flow.queries.rows import PAYLOADS
from saga_flow.store import dialect

M = TypeVar("M", bound=models.Model)
R = TypeVar("R")
Reader = Callable[[Any], Any]


def rows_of(model: type[M]) -> models.QuerySet[M]:
    """All rows of *model* as the writing database holds them."""
    return model._default_manager.using(dialect.alias())


def read(
    row: type[R], queryset: models.QuerySet[Any], *, payloads: bool = True
) -> tuple[R, ...]:
    """
    Return *queryset* as records of class *row*, in its order.

    Columns of any size are left out without *payloads*, and None in the record.
    """
    readers = {
        name: reader
        for name, reader in _readers(row).items()  # type: ignore[arg-type] # classes hash
        if payloads or name not in PAYLOADS
    }
    return tuple(
        row(**{name: reader(found[name]) for name, reader in readers.items()})
        for found in queryset.values(*readers)
    )


@cache
def _readers(row: Any) -> Mapping[str, Reader]:
    return {name: _reader(hint) for name, hint in get_type_hints(row).items()}


def _reader(hint: Any) -> Reader:
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _unless_null(kind)
        if get_origin(kind) is Mapping:
            return _unless_null(json_object)
    return _as_it_is


def _unless_null(convert: Reader) -> Reader:
    return lambda stored: None if stored is None else convert(stored)


def _as_it_is(stored: Any) -> Any:
    return stored

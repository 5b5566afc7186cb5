"""What differs between vendors, in one place (docs/engine.md, "Time")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow import clock, conf

_CLOCK: Final = {
    "postgresql": "clock_timestamp()",
    "mysql": "UTC_TIMESTAMP(6)",
    "oracle": "",
}


@dataclass(frozen=True, slots=True)
class Sql:
    """A fragment of SQL to be used instead of a bound value."""

    text: str
    parameters: tuple[Any, ...] = ()


def alias() -> str:
    """The alias that holds the engine's tables; the writing side of any router."""
    return conf.get().DATABASE


def connection() -> BaseDatabaseWrapper:
    """This thread's connection to the engine's database."""
    return connections[alias()]


def now() -> Sql:
    """The database's present time, for use inside a statement."""
    wrapper = connection()
    text = _CLOCK.get(wrapper.vendor)
    if text is None or clock.bound() is not None:
        return Sql("%s", (wrapper.ops.adapt_datetimefield_value(clock.now()),))
    return Sql(text)


def read_now() -> datetime:
    """Ask the database for its present time."""
    wrapper = connection()
    text = _CLOCK.get(wrapper.vendor)
    if text is None or clock.bound() is not None:
        return clock.now()
    with wrapper.cursor() as cursor:
        cursor.execute(f"SELECT {text}")
        value: datetime = to_datetime(cursor.fetchone()[0])
    return value


def to_datetime(value: Any) -> Any:
    """A time as a vendor returns it from raw SQL, as an aware one in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return value


def to_uuid(value: Any) -> Any:
    """A key as a vendor returns it from raw SQL, as a UUID."""
    return UUID(value) if isinstance(value, str) else value


def adapt(value: Any) -> Any:
    """*value* as this vendor's driver takes it; text and numbers as they are."""
    if isinstance(value, UUID):
        wrapper = connection()
        if wrapper.vendor == "postgresql":
            return value
        native = wrapper.features.has_native_uuid_field
        return str(value) if native else value.hex
    if isinstance(value, datetime):
        return connection().ops.adapt_datetimefield_value(value)
    return value


def adapted(values: Sequence[Any]) -> list[Any]:
    """Each of *values* as this vendor's driver takes it."""
    return [adapt(value) for value in values]


@cache
def cast(model: type[models.Model], column: str, vendor_alias: str) -> str:
    """The column's type, for a placeholder that has no context of its own."""
    for field in model._meta.concrete_fields:
        if field.column == column:
            if isinstance(field, models.AutoField):
                return "bigint"
            return str(field.db_type(connections[vendor_alias])).split(" CHECK")[0]
    raise LookupError(f"{model.__name__} has no column {column!r}.")

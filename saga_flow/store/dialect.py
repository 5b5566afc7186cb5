"""What differs between vendors, in one place (docs/engine.md, "Time")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
    reason: str = ""
    """Of a condition: what a caller that it refuses is told."""


@dataclass(frozen=True, slots=True)
class _Present:
    """Stands for the present time in parameters until they are bound."""

    ahead: timedelta = timedelta()


_NOW_BOUND: Final = Sql("%s", (_Present(),))
_NOW: Final = {vendor: Sql(text) for vendor, text in _CLOCK.items()}
_LATER: Final = {
    "postgresql": "clock_timestamp() + %s * interval '1 microsecond'",
    "mysql": "UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND",
}
_AS_IT_IS: Final = frozenset({str, int, float, bool, type(None)})


def alias() -> str:
    """The alias that holds the engine's tables; the writing side of any router."""
    return conf.get().DATABASE


def connection() -> BaseDatabaseWrapper:
    """This thread's connection to the engine's database."""
    return connections[alias()]


def vendor() -> str:
    """What kind of database the engine's is: sqlite, postgresql, mysql."""
    return _vendor_of(alias())


@cache
def _vendor_of(database: str) -> str:
    return connections[database].vendor


def now() -> Sql:
    """The database's present time; its parameters are for :class:`Binding` alone."""
    if clock.bound() is not None:
        return _NOW_BOUND
    return _NOW.get(vendor(), _NOW_BOUND)


def later(span: timedelta | None) -> Sql | None:
    """*span* after the database's present time; None: never."""
    if span is None:
        return None
    text = _LATER.get(vendor())
    if text is None or clock.bound() is not None:
        return Sql("%s", (_Present(span),))
    return Sql(text, (span // timedelta(microseconds=1),))


def forward(column: str) -> Sql:
    """The database's present time, or what *column* holds if that is later."""
    moment = now()
    later = "MAX" if vendor() == "sqlite" else "GREATEST"
    return Sql(f"{later}({column}, {moment.text})", moment.parameters)


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


def to_uuid(value: Any) -> UUID | None:
    """A UUID as a vendor returns it from raw SQL."""
    return value if value is None or isinstance(value, UUID) else UUID(value)


def adapt(value: Any) -> Any:
    """*value* as this vendor's driver takes it; text and numbers as they are."""
    return _adapt(connection(), value)


def _adapt(wrapper: BaseDatabaseWrapper, value: Any) -> Any:
    if isinstance(value, UUID):
        if wrapper.vendor == "postgresql":
            return value
        native = wrapper.features.has_native_uuid_field
        return str(value) if native else value.hex
    if isinstance(value, datetime):
        return wrapper.ops.adapt_datetimefield_value(value)
    return value


class Binding:
    """
    How the values of one transaction are bound to its statements.

    Where the time is bound and not the database's own, all of them say the same one:
    it is read when the first of them is sent, after any wait for a lock.
    """

    def __init__(self, wrapper: BaseDatabaseWrapper | None = None) -> None:
        self.wrapper = wrapper or connection()
        self._present: datetime | None = None

    def bound(self, values: Iterable[Any]) -> list[Any]:
        """Each of *values* as this vendor's driver takes it."""
        return [
            value if type(value) in _AS_IT_IS else self._adapted(value)
            for value in values
        ]

    def _adapted(self, value: Any) -> Any:
        if not isinstance(value, _Present):
            return _adapt(self.wrapper, value)
        if self._present is None:
            self._present = clock.now()
        return _adapt(self.wrapper, self._present + value.ahead)


@cache
def cast(model: type[models.Model], column: str) -> str:
    """The column's type, for a placeholder that has no context of its own."""
    for field in model._meta.concrete_fields:
        if field.column == column:
            if isinstance(field, models.AutoField):
                return "bigint"
            return str(field.db_type(connection())).split(" CHECK")[0]
    raise LookupError(f"{model.__name__} has no column {column!r}.")

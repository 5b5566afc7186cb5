"""
Statements as data, and the two ways to run them.

A write of docs/writes.md is one guarded :class:`RunUpdate` followed by
:class:`Update` and :class:`Insert` statements. :func:`apply` runs them one after
another in a short transaction on every vendor; :func:`apply_at_once` makes the same
list one data-changing statement on PostgreSQL. What is written is said once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final
from uuid import UUID

from django.db import DataError, models, transaction

from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowSignal,
    FlowTag,
    FlowTimer,
    SideEffect,
)
from saga_flow.store import dialect
from saga_flow.store.dialect import Sql
from saga_flow.store.transaction import ClaimLost, Refused

RUN_TABLE: Final = FlowRun._meta.db_table
TABLES: Final[Mapping[type[models.Model], str]] = {
    model: model._meta.db_table
    for model in (
        ActionAttempt,
        ActionRun,
        CompensationRun,
        FlowCommand,
        FlowEvent,
        FlowRun,
        FlowSignal,
        FlowTag,
        FlowTimer,
        SideEffect,
    )
}


@dataclass(frozen=True, slots=True)
class FromRun:
    """A value read from the run row as the guarded UPDATE left it."""

    column: str
    minus: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUpdate:
    """The guarded UPDATE of the run row that every engine transaction begins with."""

    run: UUID
    where: tuple[Sql, ...]
    sets: Mapping[str, Any]
    """In this order: MariaDB evaluates assignments from left to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """An UPDATE of one row by key; *must* says that missing it loses the claim."""

    model: type[models.Model]
    sets: Mapping[str, Any]
    where: Mapping[str, Any]
    must: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """An INSERT of rows that share their columns."""

    model: type[models.Model]
    rows: Sequence[Mapping[str, Any]]
    once: bool = False
    """Leave a row that is there already as it is."""


Statement = Update | Insert


def literal(values: Iterable[str]) -> str:
    """Enum values as an SQL list; never anything that came from outside."""
    return ", ".join(f"'{value}'" for value in sorted(str(v) for v in values))


@cache
def quoted(column: str, vendor: str) -> str:
    """A column's name, where *vendor* reserves the word."""
    return f"`{column}`" if vendor == "mysql" else f'"{column}"'


def placed(value: Any) -> str:
    """The text that stands for *value*."""
    return value.text if isinstance(value, Sql) else "%s"


def bound(values: Iterable[Any]) -> list[Any]:
    """The parameters of *values*, as the driver takes them."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Sql):
            found.extend(value.parameters)
        elif isinstance(value, FromRun):
            continue
        else:
            found.append(dialect.adapt(value))
    return found


@dataclass(slots=True)
class _Text:
    """SQL text with its parameters, grown piece by piece."""

    text: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)

    def add(self, text: str, parameters: Iterable[Any] = ()) -> None:
        self.text.append(text)
        self.parameters.extend(parameters)


def run_update(update: RunUpdate) -> tuple[str, list[Any]]:
    """The SQL of the guard."""
    sets = ", ".join(f"{name} = {placed(v)}" for name, v in update.sets.items())
    where = " AND ".join(condition.text for condition in update.where)
    parameters = bound(update.sets.values())
    parameters.append(dialect.adapt(update.run))
    parameters.extend(bound(update.where))
    return f"UPDATE {RUN_TABLE} SET {sets} WHERE id = %s AND {where}", parameters


def guard(update: RunUpdate) -> None:
    """Run the guard in the open transaction. Raises Refused when nobody matched."""
    text, parameters = run_update(update)
    with dialect.connection().cursor() as cursor:
        cursor.execute(text, parameters)
        if cursor.rowcount == 0:
            raise Refused


def run_statement(run: UUID, statement: Statement) -> int:
    """Run one later statement. Raises ClaimLost when a claim matched no row."""
    if isinstance(statement, Update):
        text, parameters = _update(statement)
    else:
        text, parameters = _insert(run, statement)
    with dialect.connection().cursor() as cursor:
        cursor.execute(text, parameters)
        changed: int = cursor.rowcount
    if isinstance(statement, Update) and statement.must and changed != 1:
        raise ClaimLost
    return changed


def apply(update: RunUpdate, statements: Iterable[Statement]) -> None:
    """Guard and statements, one after another, in the caller's transaction."""
    guard(update)
    for statement in statements:
        run_statement(update.run, statement)


def _update(update: Update) -> tuple[str, list[Any]]:
    vendor = dialect.connection().vendor
    sets = ", ".join(
        f"{quoted(name, vendor)} = {placed(v)}" for name, v in update.sets.items()
    )
    where = " AND ".join(
        f"{quoted(name, vendor)} = {placed(v)}" for name, v in update.where.items()
    )
    table = TABLES[update.model]
    parameters = bound(update.sets.values()) + bound(update.where.values())
    return f"UPDATE {table} SET {sets} WHERE {where}", parameters


def _insert(run: UUID, insert: Insert) -> tuple[str, list[Any]]:
    columns = tuple(insert.rows[0])
    text = _Text()
    for number, row in enumerate(insert.rows):
        shape: list[str] = []
        for value in row.values():
            if isinstance(value, FromRun):
                shape.append(
                    f"(SELECT {value.column} FROM {RUN_TABLE} WHERE id = %s)"
                    f" - {value.minus}"
                )
                text.parameters.append(dialect.adapt(run))
            else:
                shape.append(placed(value))
                text.parameters.extend(bound((value,)))
        text.add((", " if number else "") + f"({', '.join(shape)})")
    head, tail = _insert_frame(TABLES[insert.model], columns, once=insert.once)
    return head + " VALUES " + "".join(text.text) + tail, text.parameters


@lru_cache(maxsize=256)
def _frame(
    table: str, columns: tuple[str, ...], vendor: str, *, once: bool
) -> tuple[str, str]:
    names = ", ".join(quoted(column, vendor) for column in columns)
    if vendor == "mysql":
        return f"INSERT {'IGNORE ' if once else ''}INTO {table} ({names})", ""
    tail = " ON CONFLICT DO NOTHING" if once else ""
    return f"INSERT INTO {table} ({names})", tail


def _insert_frame(
    table: str, columns: tuple[str, ...], *, once: bool
) -> tuple[str, str]:
    return _frame(table, columns, dialect.connection().vendor, once=once)


def apply_at_once(update: RunUpdate, statements: Sequence[Statement]) -> None:
    """
    The same as :func:`apply`, as one statement. PostgreSQL only.

    Allowed only where each statement addresses rows by key and nothing is decided
    by reading other rows: a statement that waited for the run's lock reads a
    snapshot older than the lock (docs/writes.md, "Run row first").
    """
    text, parameters = _at_once(update, statements)
    wrapper = dialect.connection()
    try:
        with wrapper.cursor() as cursor:
            if wrapper.in_atomic_block:
                with transaction.atomic(using=wrapper.alias):
                    cursor.execute(text, parameters)
            else:
                cursor.execute(text, parameters)
            if cursor.fetchone() is None:
                raise Refused
    except DataError as error:
        if getattr(error.__cause__, "sqlstate", None) == "22012":
            raise ClaimLost from None
        raise


def _at_once(
    update: RunUpdate, statements: Sequence[Statement]
) -> tuple[str, list[Any]]:
    text = _Text()
    head, parameters = run_update(update)
    text.add(f"WITH run AS ({head} RETURNING id, history_seq)", parameters)
    claims: list[str] = []
    for number, statement in enumerate(statements):
        name = f"s{number}"
        if isinstance(statement, Update):
            _add_update(text, name, statement)
            if statement.must:
                claims.append(name)
        else:
            _add_insert(text, name, statement)
    # a claim that matched no row divides by zero, so that nothing of it stays
    lost = "".join(f", 1 / (SELECT count(*) FROM {name})" for name in claims)
    text.add(f" SELECT history_seq{lost} FROM run")
    return "".join(text.text), text.parameters


def _add_update(text: _Text, name: str, update: Update) -> None:
    vendor_alias = dialect.alias()
    sets = ", ".join(
        f'"{column}" = {_cast(update.model, column, value, vendor_alias)}'
        for column, value in update.sets.items()
    )
    where = " AND ".join(
        "t.run_id = run.id" if column == "run_id" else f"t.{column} = {placed(value)}"
        for column, value in update.where.items()
    )
    table = TABLES[update.model]
    text.add(
        f", {name} AS (UPDATE {table} t SET {sets} FROM run WHERE {where} RETURNING 1)",
        bound(update.sets.values())
        + bound(v for column, v in update.where.items() if column != "run_id"),
    )


def _add_insert(text: _Text, name: str, insert: Insert) -> None:
    vendor_alias = dialect.alias()
    columns = tuple(insert.rows[0])
    head, tail = _insert_frame(TABLES[insert.model], columns, once=insert.once)
    text.add(f", {name} AS ({head} ")
    for number, row in enumerate(insert.rows):
        chosen: list[str] = []
        kept: list[Any] = []
        for column, value in row.items():
            if column == "run_id":
                chosen.append("run.id")
            elif isinstance(value, FromRun):
                chosen.append(f"run.{value.column} - {value.minus}")
            else:
                chosen.append(_cast(insert.model, column, value, vendor_alias))
                kept.append(value)
        union = "UNION ALL " if number else ""
        text.add(f"{union}SELECT {', '.join(chosen)} FROM run ", bound(kept))
    text.add(f"{tail} RETURNING 1)")


def _cast(model: type[models.Model], column: str, value: Any, vendor_alias: str) -> str:
    if isinstance(value, Sql):
        return value.text
    return f"%s::{dialect.cast(model, column, vendor_alias)}"

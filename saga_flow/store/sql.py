"""
Statements as data, and the two ways to run them.

A write of docs/writes.md is one guarded :class:`RunUpdate` followed by
:class:`Update` and :class:`Insert` statements. :func:`apply` runs them one after
another in a short transaction on every vendor; :func:`apply_at_once` makes the same
list one data-changing statement on PostgreSQL. What is written is said once.

SQL text depends on the *shape* of a statement alone: its columns and what stands for
each value. A process writes few shapes over and over, so their text is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final
from uuid import UUID

from django.db import DataError, models, transaction
from django.db.backends.utils import CursorWrapper

from saga_flow.models import (
    ActionAttempt,
    ActionRun,
    CompensationRun,
    FlowChild,
    FlowCommand,
    FlowEvent,
    FlowRun,
    FlowSignal,
    FlowTag,
    FlowTimer,
    SideEffect,
)
from saga_flow.models.fields import payload_columns
from saga_flow.serialization import sealing
from saga_flow.store import dialect
from saga_flow.store.announcing import announce
from saga_flow.store.dialect import Binding, Sql
from saga_flow.store.transaction import ClaimLost, Refused

RUN_TABLE: Final = FlowRun._meta.db_table
TABLES: Final[Mapping[type[models.Model], str]] = {
    model: model._meta.db_table
    for model in (
        ActionAttempt,
        ActionRun,
        CompensationRun,
        FlowChild,
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


@dataclass(frozen=True, slots=True)
class Among:
    """In a WHERE: the column is one of these values."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUpdate:
    """The guarded UPDATE of the run row that every engine transaction begins with."""

    run: UUID
    where: tuple[Sql, ...]
    sets: Mapping[str, Any]
    """In this order: MariaDB evaluates assignments from left to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """
    An UPDATE by key; without *sets* the row is deleted.

    *must* says that missing a row loses the claim.
    """

    model: type[models.Model]
    sets: Mapping[str, Any]
    where: Mapping[str, Any]
    must: bool = True
    rows: int = 1
    """How many rows it must match."""
    conditions: tuple[Sql, ...] = ()
    """What else must hold of the row."""


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


Mark = str | FromRun
Shape = tuple[tuple[str, ...], tuple[Mark, ...]]
"""Columns, and the mark that stands for the value of each."""

_RUN_ID: Final = FromRun("id")


def _sealed(model: type[models.Model], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """*values* as they are stored: payloads sealed, where the host has a codec."""
    if not sealing.in_use():
        return values
    payloads = payload_columns(model)
    return {
        column: sealing.seal(value)
        if column in payloads and isinstance(value, str)
        else value
        for column, value in values.items()
    }


def _shape(values: Mapping[str, Any], parameters: list[Any], run: UUID | None) -> Shape:
    """
    The shape of *values*; what is to be bound is added to *parameters*.

    *run* is bound where a value is read from the run's row. Without it, the text that
    the shape is for has that row at hand as ``run``.
    """
    marks: list[Mark] = []
    for column, value in values.items():
        if value is None:
            marks.append("NULL")
        elif run is None and column == "run_id":
            marks.append(_RUN_ID)
        elif isinstance(value, Sql):
            marks.append(value.text)
            parameters.extend(value.parameters)
        elif isinstance(value, Among):
            marks.append(f"IN ({', '.join(['%s'] * len(value.values))})")
            parameters.extend(value.values)
        elif isinstance(value, FromRun):
            marks.append(value)
            parameters.extend(() if run is None else (run,))
        else:
            marks.append("%s")
            parameters.append(value)
    return tuple(values), tuple(marks)


def run_update(update: RunUpdate) -> tuple[str, list[Any]]:
    """The SQL of the guard, and what is to be bound in it."""
    parameters: list[Any] = []
    sets = _shape(_sealed(FlowRun, update.sets), parameters, update.run)
    parameters.append(update.run)
    for condition in update.where:
        parameters.extend(condition.parameters)
    where = tuple(condition.text for condition in update.where)
    return _run_update_text(sets, where), parameters


@lru_cache(maxsize=512)
def _run_update_text(sets: Shape, where: tuple[str, ...]) -> str:
    assigned = ", ".join(
        f"{column} = {mark}" for column, mark in zip(*sets, strict=True)
    )
    return f"UPDATE {RUN_TABLE} SET {assigned} WHERE id = %s AND {' AND '.join(where)}"


def guard(update: RunUpdate) -> None:
    """Run the guard in the open transaction. Raises Refused when nobody matched."""
    apply(update, ())


def run_statement(
    run: UUID, statement: Statement, binding: Binding | None = None
) -> int:
    """
    Run one later statement. Raises ClaimLost when a claim matched no row.

    *binding* names another connection than the one of the engine's transactions.
    """
    binding = binding or Binding()
    with binding.wrapper.cursor() as cursor:
        return _run(cursor, binding, run, statement)


def apply(update: RunUpdate, statements: Iterable[Statement]) -> None:
    """Guard and statements, one after another, in the caller's transaction."""
    binding = Binding()
    with binding.wrapper.cursor() as cursor:
        text, parameters = run_update(update)
        cursor.execute(text, binding.bound(parameters))
        if cursor.rowcount == 0:
            raise Refused(update)
        for statement in statements:
            _run(cursor, binding, update.run, statement)


def _run(
    cursor: CursorWrapper, binding: Binding, run: UUID, statement: Statement
) -> int:
    parameters: list[Any] = []
    vendor, table = binding.wrapper.vendor, TABLES[statement.model]
    if isinstance(statement, Update):
        sets = _shape(_sealed(statement.model, statement.sets), parameters, run)
        where = _shape(statement.where, parameters, run)
        text = _update_text(vendor, table, sets, where)
        text += _conditions(statement, parameters)
    else:
        rows = tuple(
            _shape(_sealed(statement.model, row), parameters, run)
            for row in statement.rows
        )
        text = _insert_text(vendor, table, rows, once=statement.once)
    cursor.execute(text, binding.bound(parameters))
    changed: int = cursor.rowcount
    if isinstance(statement, Update) and statement.must and changed != statement.rows:
        raise ClaimLost
    _announce(run, statement)
    return changed


def _conditions(statement: Update, parameters: list[Any]) -> str:
    for condition in statement.conditions:
        parameters.extend(condition.parameters)
    return "".join(f" AND {condition.text}" for condition in statement.conditions)


def _announce(run: UUID, statement: Statement) -> None:
    """Tell of journal lines once they are committed, or at once if they are."""
    if isinstance(statement, Insert) and statement.model is FlowEvent:
        announce(run, statement.rows)


@lru_cache(maxsize=512)
def _update_text(vendor: str, table: str, sets: Shape, where: Shape) -> str:
    assigned = ", ".join(
        f"{quoted(column, vendor)} = {mark}" for column, mark in zip(*sets, strict=True)
    )
    matched = " AND ".join(
        f"{quoted(column, vendor)} {_matches(mark)}"
        for column, mark in zip(*where, strict=True)
    )
    what = f"UPDATE {table} SET {assigned}" if assigned else f"DELETE FROM {table}"
    return f"{what} WHERE {matched}"


def _matches(mark: Mark) -> str:
    return f"{mark}" if str(mark).startswith("IN (") else f"= {mark}"


@lru_cache(maxsize=512)
def _insert_text(
    vendor: str, table: str, rows: tuple[Shape, ...], *, once: bool
) -> str:
    def read(mark: Mark) -> str:
        if isinstance(mark, str):
            return mark
        return f"(SELECT {mark.column} FROM {RUN_TABLE} WHERE id = %s) - {mark.minus}"

    head, tail = _insert_frame(vendor, table, rows[0][0], once=once)
    values = ", ".join(f"({', '.join(map(read, marks))})" for _, marks in rows)
    return f"{head} VALUES {values}{tail}"


def _insert_frame(
    vendor: str, table: str, columns: tuple[str, ...], *, once: bool
) -> tuple[str, str]:
    names = ", ".join(quoted(column, vendor) for column in columns)
    tail = _ONCE.get(vendor, " ON CONFLICT DO NOTHING") if once else ""
    return f"INSERT INTO {table} ({names})", tail


# never IGNORE: that would also swallow what is wrong with the row itself
_ONCE: Final = {"mysql": " ON DUPLICATE KEY UPDATE run_id = run_id"}


def apply_at_once(update: RunUpdate, statements: Sequence[Statement]) -> None:
    """
    The same as :func:`apply`, as one statement. PostgreSQL only.

    Allowed only where each statement addresses rows by key and nothing is decided
    by reading other rows: a statement that waited for the run's lock reads a
    snapshot older than the lock (docs/writes.md, "Run row first").
    """
    binding = Binding()
    text, parameters = _at_once(update, statements)
    wrapper, values = binding.wrapper, binding.bound(parameters)
    try:
        with wrapper.cursor() as cursor:
            if wrapper.in_atomic_block:
                with transaction.atomic(using=wrapper.alias):
                    cursor.execute(text, values)
            else:
                cursor.execute(text, values)
            if cursor.fetchone() is None:
                raise Refused(update)
    except DataError as error:
        if getattr(error.__cause__, "sqlstate", None) == "22012":
            raise ClaimLost from None
        raise
    for statement in statements:
        _announce(update.run, statement)


def _at_once(
    update: RunUpdate, statements: Sequence[Statement]
) -> tuple[str, list[Any]]:
    head, parameters = run_update(update)
    texts = [f"WITH run AS ({head} RETURNING id, history_seq)"]
    claims: list[str] = []
    for number, statement in enumerate(statements):
        name = f"s{number}"
        if isinstance(statement, Update):
            sets = _shape(_sealed(statement.model, statement.sets), parameters, None)
            where = _shape(statement.where, parameters, None)
            more = _conditions(statement, parameters)
            text = f"{_update_part(statement.model, sets, where)}{more} RETURNING 1"
            if statement.must:
                claims.append(name)
        else:
            rows = tuple(
                _shape(_sealed(statement.model, row), parameters, None)
                for row in statement.rows
            )
            text = _insert_part(statement.model, rows, once=statement.once)
        texts.append(f"{name} AS ({text})")
    # a claim that matched no row divides by zero, so that nothing of it stays
    lost = "".join(f", 1 / (SELECT count(*) FROM {name})" for name in claims)
    return f"{', '.join(texts)} SELECT history_seq{lost} FROM run", parameters


@lru_cache(maxsize=512)
def _update_part(model: type[models.Model], sets: Shape, where: Shape) -> str:
    assigned = ", ".join(
        f'"{column}" = {_read(model, column, mark)}'
        for column, mark in zip(*sets, strict=True)
    )
    matched = " AND ".join(
        f"t.{column} = {mark if isinstance(mark, str) else f'run.{mark.column}'}"
        for column, mark in zip(*where, strict=True)
    )
    table = f"{TABLES[model]} t"
    what = f"UPDATE {table} SET {assigned} FROM run"
    if not assigned:
        what = f"DELETE FROM {table} USING run"
    return f"{what} WHERE {matched}"


@lru_cache(maxsize=512)
def _insert_part(
    model: type[models.Model], rows: tuple[Shape, ...], *, once: bool
) -> str:
    head, tail = _insert_frame("postgresql", TABLES[model], rows[0][0], once=once)
    chosen = " UNION ALL ".join(
        f"SELECT {', '.join(_read(model, *pair) for pair in zip(*row, strict=True))}"
        " FROM run"
        for row in rows
    )
    return f"{head} {chosen}{tail} RETURNING 1"


def _read(model: type[models.Model], column: str, mark: Mark) -> str:
    if isinstance(mark, FromRun):
        return (
            f"run.{mark.column} - {mark.minus}" if mark.minus else f"run.{mark.column}"
        )
    if mark in ("%s", "NULL"):
        return f"{mark}::{dialect.cast(model, column)}"
    return mark

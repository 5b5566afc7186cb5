"""Counts what a thread's connection sends: statements, commits, rows read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_NOT_COUNTED: Final = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")
_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


@dataclass(slots=True)
class Cost:
    """What was sent since it was last taken."""

    statements: list[str] = field(default_factory=list)
    """Without what only begins, nests or ends a transaction."""

    commits: int = 0
    rows: int = 0
    """Rows that were read."""

    def take(self) -> Cost:
        """What came up to now; counting begins anew."""
        taken = Cost(list(self.statements), self.commits, self.rows)
        self.statements.clear()
        self.commits = self.rows = 0
        return taken


class _Cursor:
    """A cursor that counts the rows which it hands out."""

    def __init__(self, cursor: Any, cost: Cost) -> None:
        self._cursor, self._cost = cursor, cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __iter__(self) -> Iterator[Any]:
        for row in self._cursor:
            self._cost.rows += 1
            yield row

    def __enter__(self) -> _Cursor:
        self._cursor.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._cursor.__exit__(*error)

    def fetchone(self) -> Any:
        row = self._cursor.fetchone()
        self._cost.rows += row is not None
        return row

    def fetchmany(self, *size: int) -> Any:
        return self._counted(self._cursor.fetchmany(*size))

    def fetchall(self) -> Any:
        return self._counted(self._cursor.fetchall())

    def _counted(self, rows: Any) -> Any:
        self._cost.rows += len(rows)
        return rows


@contextmanager
def counted() -> Iterator[Cost]:
    """Count within the block, on this thread's connection."""
    wrapper: Any = own_connection()
    cost = Cost()
    made, real = wrapper.make_cursor, wrapper._commit

    def execute(call: Any, sql: str, *rest: Any) -> Any:
        text = sql.lstrip()
        if not text.startswith(_NOT_COUNTED):
            cost.statements.append(text)
            cost.commits += not wrapper.in_atomic_block and text.startswith(_WRITES)
        return call(sql, *rest)

    def commit() -> None:
        cost.commits += 1
        real()

    wrapper.make_cursor = lambda cursor: _Cursor(made(cursor), cost)
    wrapper._commit = commit
    try:
        with wrapper.execute_wrapper(execute):
            yield cost
    finally:
        del wrapper.make_cursor, wrapper._commit


def own_connection() -> BaseDatabaseWrapper:
    """This thread's connection itself, not the proxy that Django hands out."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    wrapper.ensure_connection()
    return wrapper

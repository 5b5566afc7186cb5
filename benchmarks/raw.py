"""
What the database does without us: the least that a durable step could be.

One row is inserted and the progress of its parent updated, through the bare driver,
in tables of their own in the same database and with the same synchronous setting.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from django.db import connection

_TABLES: Final = (
    "CREATE TABLE bench_run (id integer PRIMARY KEY, position integer)",
    "CREATE TABLE bench_step (run integer, position integer, result varchar(99),"
    " PRIMARY KEY (run, position))",
    "INSERT INTO bench_run VALUES (1, 0)",
)
_INSERT: Final = "INSERT INTO bench_step VALUES (1, {0}, {0})"
_UPDATE: Final = "UPDATE bench_run SET position = {0} WHERE id = 1"
_BOTH: Final = f"WITH step AS ({_INSERT}) {_UPDATE}"


class Raw:
    """The driver's own connection, which Django has set up as it does for us."""

    def __init__(self) -> None:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            for text in _TABLES:
                cursor.execute(text)
        mark = "?" if connection.vendor == "sqlite" else "%s"
        self._insert, self._update = (text.format(mark) for text in (_INSERT, _UPDATE))
        self._one = _BOTH.format(mark)
        self._numbers = itertools.count(1)
        self._cursor: Any = _driver_cursor()

    def commit(self) -> None:
        """BEGIN, insert, update, COMMIT."""
        number = next(self._numbers)
        execute = self._cursor.execute
        execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
        execute(self._insert, (number, str(number)))
        execute(self._update, (number,))
        execute("COMMIT")

    def one_statement(self) -> None:
        """Both writes as one statement that commits by itself; PostgreSQL only."""
        number = next(self._numbers)
        self._cursor.execute(self._one, (number, str(number), number))

    def read(self, text: str, parameters: tuple[Any, ...]) -> list[Any]:
        """The rows of a query, as the driver hands them out."""
        self._cursor.execute(text, parameters)
        return list(self._cursor.fetchall())


def _driver_cursor() -> Any:
    driver = connection.connection
    if connection.vendor == "postgresql":
        import psycopg  # noqa: PLC0415 - only where it is installed

        # Django's cursors bind in the client; the driver's own does it in the server
        return psycopg.Cursor(driver)
    return driver.cursor()

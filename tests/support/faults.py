"""
One fault at one commit: refused, in the dark, or the end of the process.

A fault is set to the *n*-th commit that this thread's connection makes. Where a
single statement commits by itself, as on PostgreSQL, that statement is a commit too.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, Final

from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.support.statements import own_connection

_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


class Died(BaseException):
    """This process is gone; nothing after this line has happened."""


class Kind(Enum):
    """What goes wrong."""

    BUSY = auto()
    """The database undoes the transaction and asks to try again."""

    LOST = auto()
    """The connection breaks before the commit takes effect."""

    UNKNOWN = auto()
    """The commit takes effect; the connection breaks before it says so."""

    DIED_BEFORE = auto()
    """The process ends before the commit."""

    DIED_AFTER = auto()
    """The process ends after the commit."""

    @property
    def kills(self) -> bool:
        """Whether the process is gone afterwards."""
        return self in {Kind.DIED_BEFORE, Kind.DIED_AFTER}

    @property
    def takes_effect(self) -> bool:
        """Whether the commit stands."""
        return self in {Kind.UNKNOWN, Kind.DIED_AFTER}


class Fault:
    """Counts commits, and strikes at the *at*-th."""

    def __init__(self, kind: Kind | None, at: int) -> None:
        self.commits = 0
        self.struck = False
        self._kind = kind
        self._at = at
        self._dead = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let it strike within the block."""
        wrapper: Any = own_connection()
        real = wrapper._commit

        def commit() -> None:
            self._at_commit(wrapper, real)

        wrapper._commit = commit
        try:
            with wrapper.execute_wrapper(self._at_statement):
                yield
        finally:
            del wrapper._commit

    def bury(self) -> None:
        """The dead process's connection goes with it; a new process begins."""
        connection.close()
        self._dead = False

    def _at_commit(
        self, wrapper: BaseDatabaseWrapper, real: Callable[[], None]
    ) -> None:
        self._refuse_the_dead()
        if not self._is_due():
            real()
            return
        if self._takes_effect():
            real()
        else:
            wrapper.connection.rollback()
        self._strike(wrapper)

    def _at_statement(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        self._refuse_the_dead()
        wrapper = rest[-1]["connection"]
        alone = not wrapper.in_atomic_block and sql.lstrip().startswith(_WRITES)
        if not alone or not self._is_due():
            return execute(sql, *rest)
        if self._takes_effect():
            execute(sql, *rest)
        self._strike(wrapper)
        return None

    def _refuse_the_dead(self) -> None:
        if self._dead:
            raise Died

    def _is_due(self) -> bool:
        self.commits += 1
        return self._kind is not None and self.commits == self._at

    def _takes_effect(self) -> bool:
        return self._kind is not None and self._kind.takes_effect

    def _strike(self, wrapper: BaseDatabaseWrapper) -> None:
        self.struck = True
        if self._kind is Kind.BUSY:
            raise busy(wrapper.vendor)
        if self._kind is not None and self._kind.kills:
            self._dead = True
            raise Died
        if wrapper.vendor != "sqlite":
            # a file does not go away, and Django never asks whether it is there
            cut(wrapper)
            wrapper.errors_occurred = True
        raise OperationalError("the connection was lost")


def cut(wrapper: BaseDatabaseWrapper) -> None:
    """Break the line to the server; the driver finds out when it uses it."""
    with socket.socket(fileno=os.dup(wrapper.connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def busy(vendor: str) -> OperationalError:
    """What *vendor* says of a transaction that may well succeed the next time."""
    if vendor == "postgresql":
        from psycopg.errors import SerializationFailure

        error = OperationalError("could not serialize access")
        error.__cause__ = SerializationFailure()
        return error
    if vendor == "mysql":
        return OperationalError(1213, "Deadlock found when trying to get lock")
    return OperationalError("database is locked")

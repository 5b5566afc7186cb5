"""
Engine transactions: short, all or nothing, retried as a whole.

Every write of the engine is guarded, so a transaction that a deadlock, a
serialisation failure, a lock wait or a busy file has undone may simply run again.
Inside a transaction of the host nothing is retried: the error is the host's to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final, TypeVar

from django.db import DatabaseError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow import clock
from saga_flow.exceptions import InsideTransaction
from saga_flow.store import dialect

T = TypeVar("T")

ATTEMPTS: Final = 6
_PG_TRANSIENT: Final = frozenset({"40001", "40P01", "55P03"})
_MYSQL_TRANSIENT: Final = frozenset({1205, 1213, 1020})
_PG_ACTIVE: Final = 1
_PG_IN_ERROR: Final = 3
_JITTER: Final = Random()  # noqa: S311 - guards nothing


class Refused(Exception):
    """
    A guard matched no row: somebody else was first. Nothing was written.

    ``guard`` is the RunUpdate that matched nothing, for whoever wants to know why.
    """

    def __init__(self, guard: object = None) -> None:
        self.guard = guard
        super().__init__(guard)


class ClaimLost(Refused):
    """The run row matched, but the claim of the held outcome did not."""


@contextmanager
def atomic() -> Iterator[None]:
    """One engine transaction; a savepoint where the host has one open."""
    with transaction.atomic(using=dialect.alias()):
        yield


def in_host_transaction() -> bool:
    """
    Whether the caller has a transaction of its own open.

    The blocks that Django's TestCase opens are marked as its own and don't count.
    """
    return _is_a_hosts(dialect.connection())


def open_elsewhere() -> list[str]:
    """
    Aliases with a transaction of the caller's that the engine's writes do not join.

    Empty where the caller has one open on the engine's own alias: that one is joined.
    """
    if in_host_transaction():
        return []
    return [
        wrapper.alias
        for wrapper in connections.all(initialized_only=True)
        # to ask a closed connection would open it
        if wrapper.connection is not None and _is_a_hosts(wrapper)
    ]


def _is_a_hosts(wrapper: BaseDatabaseWrapper) -> bool:
    if not wrapper.in_atomic_block:
        return not wrapper.get_autocommit()
    return not all(_is_a_tests(block) for block in wrapper.atomic_blocks)


def in_test_case() -> bool:
    """Whether Django's TestCase has a block open around everything."""
    wrapper = dialect.connection()
    return any(_is_a_tests(block) for block in wrapper.atomic_blocks)


def _is_a_tests(block: object) -> bool:
    # Django marks the blocks of its own TestCase by this attribute alone
    return bool(getattr(block, "_from_testcase", False))


@contextmanager
def savepoint_for_body() -> Iterator[None]:
    """
    A savepoint that only a database error rolls back.

    Any other error leaves what the body has written, as it does outside a test case,
    where each of its statements had committed.
    """
    wrapper = dialect.connection()
    # never empty inside an atomic block
    point = wrapper.savepoint() or ""
    try:
        yield
    except BaseException as error:
        if _settle_interrupted(wrapper) or isinstance(error, DatabaseError):
            # Model.save() marks the transaction as broken, which lets nothing through
            wrapper.needs_rollback = False
            wrapper.savepoint_rollback(point)
        raise
    wrapper.savepoint_commit(point)


def _settle_interrupted(wrapper: BaseDatabaseWrapper) -> bool:
    """
    End a query that a timer has cut short; whether its transaction is spoilt.

    A test case can't be given another connection: that would end its transaction.
    """
    raw = wrapper.connection
    if wrapper.vendor == "postgresql":
        if raw.info.transaction_status == _PG_ACTIVE:
            raw.cancel()
            while raw.pgconn.get_result() is not None:
                continue
        return bool(raw.info.transaction_status == _PG_IN_ERROR)
    if wrapper.vendor == "mysql":
        raw.discard_result()
    return wrapper.needs_rollback


def drop_connections() -> None:
    """
    Close this thread's connections: a body was cut off in whatever it did on them.

    The one that Django's TestCase has a block open on is mended in
    :func:`savepoint_for_body` instead.
    """
    for wrapper in connections.all(initialized_only=True):
        if not any(_is_a_tests(block) for block in wrapper.atomic_blocks):
            _cancel_query(wrapper)
            wrapper.close()


def _cancel_query(wrapper: BaseDatabaseWrapper) -> None:
    """PostgreSQL would go on with it, and keep its locks, for nobody."""
    raw = wrapper.connection
    if raw is None or wrapper.vendor != "postgresql":
        return
    if raw.info.transaction_status == _PG_ACTIVE:
        raw.cancel()


def end_what_is_left_open() -> bool:
    """Roll back and close a transaction that somebody's code forgot; whether it was."""
    wrapper = dialect.connection()
    if (
        wrapper.connection is None
        or wrapper.in_atomic_block
        or wrapper.get_autocommit()
    ):
        return False
    wrapper.rollback()
    wrapper.set_autocommit(True)
    return True


def refuse_inside(what: str) -> None:
    """Raise InsideTransaction if the caller has a transaction open."""
    if in_host_transaction():
        raise InsideTransaction(
            f"{what} inside an open transaction: each step must commit on its own, and "
            "a roll-back would erase steps whose effects stand. Call it after the "
            "transaction, or use start(), which joins it."
        )


def retried(attempt: Callable[[], T]) -> T:
    """
    Run *attempt*, a function that opens its own :func:`atomic` block.

    Run it again after a deadlock, serialisation failure, lock wait or busy file, at
    most five times with jitter. Raises the last OperationalError.
    """
    for number in range(1, ATTEMPTS + 1):
        wrapper = dialect.connection()
        outermost = not wrapper.in_atomic_block
        try:
            return attempt()
        except OperationalError as error:
            if not outermost or number == ATTEMPTS or not is_transient(error, wrapper):
                raise
        back_off(number)
    raise AssertionError("unreachable")


def back_off(number: int) -> None:
    """Pause before a transaction is run again after its *number*-th try."""
    clock.pause(_JITTER.uniform(0.01, 0.05) * 2**number)


def is_transient(error: OperationalError, wrapper: BaseDatabaseWrapper) -> bool:
    """Whether running the whole transaction again may well succeed."""
    cause = error.__cause__
    if wrapper.vendor == "postgresql":
        return getattr(cause, "sqlstate", None) in _PG_TRANSIENT
    if wrapper.vendor == "mysql":
        return bool(error.args) and error.args[0] in _MYSQL_TRANSIENT
    text = str(error)
    return "locked" in text or "busy" in text

"""
One transaction for a body and its outcome (docs/writes.md rows 27 and 32).

What the body writes comes first and the run's row after it, so that nobody waits for a
run whose body takes long. Either all of it stands, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db import DatabaseError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow.exceptions import NonRetryable
from saga_flow.models import FlowRun
from saga_flow.store import dialect
from saga_flow.store.transaction import Refused, atomic, is_transient

T = TypeVar("T")

_PG_OVER: Final = frozenset({"3B001", "25P01"})
_MYSQL_OVER: Final = 1305


class TransactionGivenUp(Exception):
    """A body spoilt the transaction that it was given: nothing that it wrote stands."""


class TransactionEnded(NonRetryable):
    """A body ended the transaction that it was given: what it wrote may stand."""


class Undone(Exception):
    """The database itself undid the transaction, and may well take it the next time."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(str(error))


class Unsure(Exception, Generic[T]):
    """The body is over; whether it was committed with its outcome is to be asked."""

    def __init__(self, outcome: T, error: BaseException) -> None:
        self.outcome = outcome
        self.error = error
        super().__init__(str(error))


def once(body: Callable[[], T], record: Callable[[T], object]) -> T:
    """
    Call *body*, then *record* with what it returned, and commit both or neither.

    Raises what the body raised, Refused where *record* did, Undone, or Unsure; in a
    test case, where none of this is the last word, what was raised itself.
    """
    wrapper = dialect.connection()
    outermost = not wrapper.in_atomic_block
    over = False
    try:
        with atomic():
            outcome = _given(wrapper, body, retried=outermost)
            over = True
            record(outcome)
    except (Refused, Undone):
        raise
    except (Exception, SystemExit) as error:
        if not over or not outermost:
            raise
        if _is_undone(error, wrapper):
            raise Undone(error) from error
        raise Unsure(outcome, error) from error
    return outcome


def _is_undone(error: BaseException, wrapper: BaseDatabaseWrapper) -> bool:
    return isinstance(error, OperationalError) and is_transient(error, wrapper)


def _given(wrapper: BaseDatabaseWrapper, body: Callable[[], T], *, retried: bool) -> T:
    """Call *body* in the open transaction, and see that it is still the same one."""
    hooks = len(wrapper.run_on_commit)
    # it goes with its transaction, whatever ended that: COMMIT, a deadlock, DDL
    point = wrapper.savepoint() or ""
    wrapper.errors_occurred = False
    try:
        with _blocks_closed(wrapper):
            value = body()
    except OperationalError as error:
        # it may have met an error of another database, which undid nothing here
        if retried and wrapper.errors_occurred and _is_undone(error, wrapper):
            raise Undone(error) from error
        raise
    _check(wrapper)
    try:
        wrapper.savepoint_commit(point)
    except DatabaseError as error:
        if not _is_over(error, wrapper):
            raise
        raise TransactionEnded(
            "The transaction that the body was given was over when it returned: it "
            "ran COMMIT or ROLLBACK by itself or a statement that commits, or it "
            "swallowed a deadlock. Nobody knows what of it stands; it is not tried "
            "again. Leave the transaction open, and let database errors through."
        ) from error
    # the step is committed by then: an error in one of them is no failure of it
    registered: list[Any] = wrapper.run_on_commit
    registered[hooks:] = [
        (points, hook, True) for points, hook, _ in registered[hooks:]
    ]
    return value


@contextmanager
def _blocks_closed(wrapper: BaseDatabaseWrapper) -> Iterator[None]:
    """Take back the blocks that a body entered and never left."""
    blocks, points = len(wrapper.atomic_blocks), len(wrapper.savepoint_ids)
    try:
        yield
    finally:
        left_open = len(wrapper.atomic_blocks) > blocks
        del wrapper.atomic_blocks[blocks:]
        del wrapper.savepoint_ids[points:]
    if left_open:
        raise TransactionGivenUp(
            "The body returned with a transaction.atomic() block open, so what it "
            "wrote was rolled back. Use the block in a with statement."
        )


def _check(wrapper: BaseDatabaseWrapper) -> None:
    if wrapper.closed_in_transaction:
        raise TransactionGivenUp(
            "The body closed its connection in the middle of its transaction, so what "
            "it wrote was rolled back. An atomic step must leave the connection open."
        )
    if wrapper.needs_rollback:
        raise TransactionGivenUp(
            "The body returned with its transaction marked for a rollback, by "
            "set_rollback(True) or by a database error that it swallowed; so what it "
            "wrote was rolled back. Raise instead, or let only a nested "
            "transaction.atomic() fail."
        )


def _is_over(error: DatabaseError, wrapper: BaseDatabaseWrapper) -> bool:
    """Whether a savepoint is missing because its transaction has ended."""
    if wrapper.vendor == "postgresql":
        return getattr(error.__cause__, "sqlstate", None) in _PG_OVER
    if wrapper.vendor == "mysql":
        return bool(error.args) and error.args[0] == _MYSQL_OVER
    return "no such savepoint" in str(error)


@contextmanager
def nobody_writes(run: UUID) -> Iterator[None]:
    """
    Wait for whoever writes to *run*, and keep others out within the block.

    After a COMMIT of unknown result the old transaction may still be under way; what
    is read in the block is the last word on it.
    """
    with atomic():
        runs = FlowRun.objects.using(dialect.alias()).select_for_update()
        list(runs.filter(pk=run).values_list("pk", flat=True))
        yield

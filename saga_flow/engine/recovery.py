"""After a write that failed: find out what stands, and keep the outcome in hand."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import DatabaseError, close_old_connections

from saga_flow import clock
from saga_flow.engine.planning import planner
from saga_flow.records import Claim, Gathered
from saga_flow.store import dialect, history, outcomes, passes
from saga_flow.store.transaction import Refused, in_test_case

logger = logging.getLogger("saga_flow.engine")

R = TypeVar("R")

_TRIES: Final = 5


def was_committed(claim: Claim, passes_after: int) -> bool:
    """
    Whether a commit whose result is unknown has been made.

    Reconnects and reads the pass counter. False while the database can't be reached:
    then the outcome is kept in hand.
    """
    found = look_up(
        lambda: history.pass_counter(claim.run, claim.epoch) == passes_after
    )
    return bool(found)


def look_up(question: Callable[[], bool]) -> bool | None:
    """Reconnect and ask the database; None while it can't be reached."""
    for number in range(_TRIES):
        try:
            dialect.connection().close_if_unusable_or_obsolete()
            return question()
        except DatabaseError:
            dialect.connection().close()
            clock.pause(0.05 * 2**number)
    return None


def keep_held(claim: Claim, gathered: Gathered) -> None:
    """
    Write the outcome in hand alone, under its own claim (rows 6 and 7).

    Called whenever a commit that should have carried it was refused or failed, or may
    have been made after all.
    """
    held = gathered.held
    if held is None:
        return
    try:
        insist(
            lambda: outcomes.record(claim.run, held, planner(claim.tenancy)),
            lambda: outcomes.is_recorded(claim.run, held),
            f"run={claim.run} step={held.sequence}",
            may_stand=True,
        )
    except DatabaseError:
        logger.exception(
            "run=%s step=%s: the database can't be reached; another attempt will be "
            "made",
            claim.run,
            held.sequence,
        )


def insist(
    record: Callable[[], R],
    is_recorded: Callable[[], bool],
    what: str,
    *,
    may_stand: bool = False,
) -> R | None:
    """
    Record an outcome that is in hand nowhere else, in up to five tries.

    Where it *may stand* already, and after a try of unknown result, it is looked for
    first: recorded a second time, it would be refused and listed as if it were
    somebody else's. Returns what *record* says, None if it stood already. Raises the
    last DatabaseError.
    """
    number = 1
    while True:
        try:
            return None if may_stand and is_recorded() else record()
        except DatabaseError:
            if number == _TRIES or in_test_case():
                raise
            may_stand = True
            logger.warning(
                "%s: its outcome could not be recorded yet", what, exc_info=True
            )
            dialect.connection().close()
            clock.pause(0.05 * 2**number)
            number += 1


def give_back(claim: Claim, error: Exception) -> None:
    """
    End a broken pass: somebody goes on from what is committed.

    If even this fails, the janitor of this process releases the run.
    """
    logger.warning("run=%s: its pass was broken off: %s", claim.run, error)
    try:
        if not in_test_case():
            # there it would take the transaction of the test with it
            dialect.connection().close_if_unusable_or_obsolete()
        passes.break_off(claim, f"a pass was broken off: {error}")
    except (Refused, DatabaseError):
        logger.warning("run=%s: could not be given back yet", claim.run)
        close_old_connections()

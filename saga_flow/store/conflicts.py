"""Why a guard matched nothing: one look at the row, made by the loser alone."""

from __future__ import annotations

from typing import Final

from saga_flow.exceptions import ConflictError
from saga_flow.store import dialect
from saga_flow.store.sql import RUN_TABLE, RunUpdate
from saga_flow.store.transaction import Refused

_UNTOLD: Final = "illegal_transition"
"""What is said where the row has meanwhile become what the guard wanted."""


def explain(refused: Refused) -> ConflictError:
    """
    The conflict that a refused write met.

    Its reason is that of the first condition of the guard that the row does not meet
    now: the status forbids the move, the lease is another's, or somebody decided.
    """
    update = refused.guard
    if not isinstance(update, RunUpdate):
        raise TypeError(f"{refused!r} was not raised by the guard of a run.")
    text = ", ".join(f"({condition.text})" for condition in update.where)
    parameters = [each for condition in update.where for each in condition.parameters]
    binding = dialect.Binding()
    with binding.wrapper.cursor() as cursor:
        cursor.execute(
            f"SELECT status, {text} FROM {RUN_TABLE} WHERE id = %s",
            binding.bound([*parameters, update.run]),
        )
        row = cursor.fetchone()
    wanted = str(update.sets.get("status", ""))
    if row is None:
        return ConflictError(run_id=update.run, reason=_UNTOLD, wanted=wanted)
    failed = [
        condition.reason
        for condition, holds in zip(update.where, row[1:], strict=True)
        if not holds and condition.reason
    ]
    return ConflictError(
        run_id=update.run,
        reason=failed[0] if failed else _UNTOLD,
        status=row[0],
        wanted=wanted,
    )

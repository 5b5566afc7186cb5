"""
What a pass writes of a compensation from inside (docs/writes.md, rows 5 and 31).

The run stays running and the pass keeps its lease: each write names the epoch, as any
step commit does. How an undo ended is recorded by row 32, whatever the run's status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from saga_flow.models import SideEffect
from saga_flow.records import Claim, Gathered, UndoFacts, UndoPlan
from saga_flow.states import CompensationState, CompensationStatus, SideEffectKind
from saga_flow.store import dialect, journal, passes, undoing, undos
from saga_flow.store.claims import new_token
from saga_flow.store.dialect import Sql
from saga_flow.store.gathered import lines_of, statements_of
from saga_flow.store.sql import Insert, RunUpdate, Statement, Update, apply
from saga_flow.store.transaction import atomic, retried
from saga_flow.store.unfinished import ATTENTION


def begin(
    claim: Claim, gathered: Gathered, ordinal: int, plans: Sequence[UndoPlan]
) -> None:
    """
    Write the plan with the ordinal that asked for it, in one commit.

    Raises Refused when the lease is gone or an interrupt is asked for; then nothing
    was written.
    """
    line = journal.line("compensation.planned", ordinal, undos=len(plans))
    lines = [*lines_of(gathered), line]

    def attempt() -> None:
        with atomic():
            sets = _state(CompensationState.RUNNING) if plans else {}
            update = _update(claim, gathered, len(lines), ordinal + 1, sets)
            asked = _asked(claim, ordinal)
            told = _told(claim, lines)
            apply(update, [*statements_of(claim, gathered), asked, *told])
            earlier = undos.planned_so_far(claim.run)
            undos.insert(claim.run, plans, first=earlier)

    retried(attempt)


def _asked(claim: Claim, ordinal: int) -> Insert:
    """
    The ordinal's own row, without a value until all is undone.

    Not among what the pass gathers: it must never be written without its plan.
    """
    return Insert(
        model=SideEffect,
        rows=[
            {
                "run_id": claim.run,
                "sequence": ordinal,
                "kind": SideEffectKind.COMPENSATE.value,
                "key": "",
                "value": None,
                "created_at": dialect.now(),
            }
        ],
    )


def started(claim: Claim, undo: UndoFacts) -> UndoFacts:
    """*undo* as the next try of it stands once :func:`start` is committed."""
    lost = undo.status is CompensationStatus.RUNNING
    return replace(
        undo,
        status=CompensationStatus.RUNNING,
        attempt=undo.attempt + 1,
        lost_attempts=undo.lost_attempts + (1 if lost else 0),
        token=new_token(),
        worker=claim.owner,
        available_at=None,
        started_at=dialect.read_now(),
    )


def start(
    claim: Claim, gathered: Gathered, before: UndoFacts, after: UndoFacts
) -> None:
    """
    Row 31, by a pass: begin one try of an undo under the run's own lease.

    Raises Refused when the lease is gone or an interrupt is asked for, ClaimLost when
    an earlier try of the undo was settled meanwhile.
    """
    line = journal.line(
        "compensation.started", before.sequence, name=before.name, attempt=after.attempt
    )
    lines = [*lines_of(gathered), line]
    statements = [
        *statements_of(claim, gathered),
        undoing.begin(before, claim.owner, after.token),
        *_told(claim, lines),
    ]
    _apply(_update(claim, gathered, len(lines), None, {}), statements)


def finish(
    claim: Claim, gathered: Gathered, ordinal: int, left: str, *, complete: bool
) -> None:
    """Write down what is left undone, which ends the compensation. Raises Refused."""
    lines = [*lines_of(gathered), journal.line("compensation.ended", ordinal)]
    value = Update(
        model=SideEffect,
        sets={"value": left},
        where={"run_id": claim.run, "sequence": ordinal},
    )
    statements = [*statements_of(claim, gathered), value, *_told(claim, lines)]
    _apply(_update(claim, gathered, len(lines), None, _ended(complete)), statements)


def _ended(complete: bool) -> dict[str, Any]:  # noqa: FBT001
    """A run that had nothing to undo says so still."""
    state = CompensationState.COMPLETED if complete else CompensationState.FAILED
    running = f"compensation_state = '{CompensationState.RUNNING.value}'"
    looked_at = {} if complete else {"attention": ATTENTION}
    return {
        **looked_at,
        "revision": Sql(f"CASE WHEN {running} THEN revision + 1 ELSE revision END"),
        "compensation_state": Sql(
            f"CASE WHEN {running} THEN '{state.value}' ELSE compensation_state END"
        ),
    }


def _state(state: CompensationState) -> dict[str, Any]:
    changes = f"compensation_state <> '{state.value}'"
    return {
        "revision": Sql(f"CASE WHEN {changes} THEN revision + 1 ELSE revision END"),
        "compensation_state": state.value,
    }


def _update(
    claim: Claim,
    gathered: Gathered,
    lines: int,
    position: int | None,
    sets: dict[str, Any],
) -> RunUpdate:
    return RunUpdate(
        run=claim.run,
        where=passes.at_work(claim),
        sets={**passes.run_sets(gathered, lines, position), **sets},
    )


def _told(claim: Claim, lines: Sequence[Any]) -> Sequence[Statement]:
    return journal.insert(claim.run, lines)


def _apply(update: RunUpdate, statements: Sequence[Statement]) -> None:
    def attempt() -> None:
        with atomic():
            apply(update, statements)

    retried(attempt)

"""What the rows must say; every assertion reads what the engine has recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from saga_flow import queries
from saga_flow.authoring.action import Action
from saga_flow.authoring.handle import Handle
from saga_flow.queries import FlowFilter
from saga_flow.records import StepFacts, UndoFacts
from saga_flow.serialization.arguments import decode_arguments, signature_of
from saga_flow.store import history

_COMPENSATED = "compensation.completed"


def assert_action_called(
    f: Action[..., Any],
    *,
    times: int | None = None,
    with_args: Sequence[Any] | Mapping[str, Any] | None = None,
    run: Handle[Any] | None = None,
) -> None:
    """
    Assert that the body of *f* was called, as a step or as an undo.

    Each try counts. *times* is the exact number, else once is enough; *with_args*
    counts only calls with these arguments, in order or by name; *run* only those of
    one run, else those of every run in the database are counted.
    """
    calls = [
        (told, tries)
        for run_id in _runs(run)
        for told, tries in _calls(f, run_id)
        if tries
    ]
    wanted = None if with_args is None else _named(f, with_args)
    found = sum(tries for told, tries in calls if wanted is None or told == wanted)
    if found == times or (times is None and found):
        return
    expected = "at least once" if times is None else f"{times} time(s)"
    what = "" if wanted is None else f" with {wanted!r}"
    seen = "; ".join(f"{tries} x {told!r}" for told, tries in calls) or "no call"
    raise AssertionError(
        f"{f.name} should have been called {expected}{what}, but was {found} time(s). "
        f"Recorded: {seen}."
    )


def assert_compensated(
    undos: Sequence[Action[..., Any]], *, run: Handle[Any] | None = None
) -> None:
    """
    Assert that exactly these undos took effect, in this order.

    Of *run*, or of every run in the database, the oldest first.
    """
    rows = [row for each in _runs(run) for row in _undone(each)]
    wanted = [undo.name for undo in undos]
    done = [name for name, completed in rows if completed]
    if done == wanted:
        return
    other = [name for name, completed in rows if not completed]
    left = f" Planned but not completed: {', '.join(other)}." if other else ""
    raise AssertionError(f"Undone should be {wanted}, but was {done}.{left}")


def _runs(run: Handle[Any] | None) -> list[UUID]:
    if run is not None:
        return [run.run_id]
    found = [each.run_id for each in queries.runs.iterate(FlowFilter(archived=None))]
    return found[::-1]


def _calls(f: Action[..., Any], run_id: UUID) -> Iterator[tuple[dict[str, Any], int]]:
    names = {f.name, *f.declared.aliases}
    # not from the read door, which hides what an action redacts
    rows: list[StepFacts | UndoFacts] = [*history.steps(run_id), *history.undos(run_id)]
    for row in rows:
        if row.name in names:
            args, kwargs = decode_arguments(row.arguments, f.function, what=f.name)
            yield _bound(f, args, kwargs), row.attempt


def _named(
    f: Action[..., Any], given: Sequence[Any] | Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return _bound(f, (), given)
    return _bound(f, given, {})


def _bound(
    f: Action[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    bound = signature_of(f.function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _undone(run_id: UUID) -> Iterator[tuple[str, bool]]:
    """Each undo of the run and whether it completed, in the order in which it did."""
    completed = [
        line.step for line in queries.history(run_id) if line.type == _COMPENSATED
    ]
    rows = {row.sequence: row for row in queries.compensations(run_id)}
    for step in completed:
        if step in rows:
            yield rows.pop(step).name, True
    for row in rows.values():
        yield row.name, False

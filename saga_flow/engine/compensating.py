"""
What ``handle()`` itself says of undos: to add one, and to undo everything so far.

``self.compensate()`` is a rollback that a pass carries out under its own lease, while
the run goes on running: the plan is written in one commit with its ordinal, then each
undo is begun and settled like one of a rollback. A pass that comes later goes on with
what is left; a real rollback takes the rows over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from saga_flow import clock
from saga_flow.engine import planning, undoing
from saga_flow.engine.levels import Levels, is_due, next_at
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Broken, Outdone, Suspended
from saga_flow.exceptions import CompensationFailed, RollbackNotPlannable
from saga_flow.records import (
    NewStep,
    SideEffectFacts,
    StepCall,
    StepFacts,
    UndoFacts,
    Wait,
)
from saga_flow.serialization import codec
from saga_flow.states import ActionStatus, CompensationStatus, SideEffectKind
from saga_flow.store import compensating as store
from saga_flow.store import history, passes
from saga_flow.store import undoing as store_undoing


def add(pass_: Pass, call: StepCall) -> None:
    """
    Record an undo for what no step has done: a completed step without a body.

    In a commit of its own, so that it is in every plan from here on, whatever
    ``handle()`` does next.
    """
    requested = f"an added undo {call.name!r}"
    ordinal, recorded = pass_.take(requested, StepFacts)
    if recorded is not None:
        if not recorded.is_bodiless or recorded.name not in (call.name, *call.aliases):
            raise pass_.mismatch(ordinal, requested)
        return
    pass_.check_right()
    claim = pass_.claim
    new = NewStep(sequence=ordinal, call=call, status=ActionStatus.COMPLETED)
    pass_.commit(
        lambda gathered: passes.commit_step(claim, gathered, new, ordinal + 1),
        ordinal + 1,
    )


def compensate(pass_: Pass) -> None:
    """
    Undo all that is recorded so far and has no undo yet.

    Raises CompensationFailed, the same on every pass.
    """
    requested = "self.compensate()"
    ordinal, recorded = pass_.take(requested, SideEffectFacts)
    if recorded is not None and recorded.kind is not SideEffectKind.COMPENSATE:
        raise pass_.mismatch(ordinal, requested)
    if recorded is None:
        pass_.check_right()
        _begin(pass_, ordinal)
    if recorded is None or recorded.value is None:
        left = _undo_all(pass_)
        told = codec.encode(left, what="what a compensation left undone")
        complete = not left
        pass_.commit(
            lambda gathered: store.finish(
                pass_.claim, gathered, ordinal, told, complete=complete
            )
        )
    else:
        left = pass_.decoded(recorded.value, dict, f"what {requested} left undone")
    if left:
        raise CompensationFailed(**left)


def _begin(pass_: Pass, ordinal: int) -> None:
    """Write the plan, with the outcome in hand; nothing is written without a plan."""
    claim = pass_.claim
    steps = planning.with_held(
        history.steps_to_undo(claim.run), pass_.pending.gathered().held
    )
    try:
        plans = planning.plan(steps, instance_id=claim.instance_id, kept=claim.tenancy)
    except RollbackNotPlannable as error:
        # a deploy can mend it: the run comes back to this line by and by
        raise pass_.leave(Broken(error)) from error
    pass_.commit(
        lambda gathered: store.begin(claim, gathered, ordinal, plans), ordinal + 1
    )


def _undo_all(pass_: Pass) -> dict[str, Any]:
    """Undo level by level; what is left undone, or nothing."""
    levels = Levels(history.undos(pass_.claim.run))
    while level := levels.current():
        levels.put(_undo(pass_, _next(pass_, level)))
    rows = history.undos(pass_.claim.run)
    undone = [row for row in rows if row.status is not CompensationStatus.COMPLETED]
    if not undone:
        return {}
    first = next(
        (row for row in undone if row.status is CompensationStatus.FAILED), undone[0]
    )
    return {
        "name": first.name,
        "sequence": first.sequence,
        "left": sorted(row.sequence for row in undone),
    }


def _next(pass_: Pass, level: Sequence[UndoFacts]) -> UndoFacts:
    """The undo to be done now; a short delay is sat out, a long one gives way."""
    # whoever else was in one of them has lost the lease to this pass
    due = [undo for undo in level if is_due(undo, pass_.now(), frozenset())]
    if due:
        return due[0]
    at = next_at(level, pass_.now())
    remaining = timedelta() if at is None else at - pass_.now()
    if not pass_.waits_here(remaining):
        raise pass_.leave(
            Suspended(
                Wait(
                    wake_at=at,
                    kind="undo",
                    name=level[0].name,
                    reason=f"undo of step {level[0].sequence} is tried again",
                )
            )
        )
    clock.pause(max(0.0, remaining.total_seconds()))
    return _next(pass_, level)


def _undo(pass_: Pass, undo: UndoFacts) -> UndoFacts:
    """One try of *undo*, as it stands afterwards."""
    pass_.check_right(taken=0)
    claim = pass_.claim
    lacking = undoing.lacking_here(claim.run, undo)
    if lacking:
        raise pass_.leave(Broken(RuntimeError(lacking)))
    started = store.started(claim, undo)
    pass_.commit(lambda gathered: store.start(claim, gathered, undo, started))
    recorder = undoing.Recorder(
        settle=lambda outcome, _: store_undoing.settle(claim.run, started, outcome),
        record=lambda outcome: store_undoing.record(claim.run, started, outcome),
    )
    outcome, leave = undoing.carry_out(claim, started, pass_.now, recorder)
    # its own outcome is one arrival
    pass_.claim = replace(claim, inbox=claim.inbox + 1)
    if leave is not None:
        pass_.leave(Outdone())
        raise leave
    return replace(
        started,
        status=CompensationStatus(outcome.status.value),
        available_at=outcome.available_at,
        error=outcome.error,
        worker=None,
    )

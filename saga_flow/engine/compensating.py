"""``self.add_compensation(...)``: what ``handle()`` itself says of undos."""

from __future__ import annotations

from saga_flow.engine.passes import Pass
from saga_flow.records import NewStep, StepCall, StepFacts
from saga_flow.states import ActionStatus
from saga_flow.store import passes


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

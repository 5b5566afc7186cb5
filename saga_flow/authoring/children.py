"""Children: other workflows that a workflow starts."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

from saga_flow.authoring.handle import Handle
from saga_flow.authoring.members import Member
from saga_flow.authoring.ports import Pass
from saga_flow.authoring.start import Start, starting
from saga_flow.records import Answer, ChildCall

R = TypeVar("R")


class Child(Member[R]):
    """One child, not yet started. Each method returns a changed copy."""

    def __init__(self, pass_: Pass, call: ChildCall) -> None:
        self._pass = pass_
        self._call = call

    def continue_on_failure(self) -> Child[R | None]:
        """Go on with None when the child fails or expires."""
        return cast("Child[R | None]", self._with(continue_on_failure=True))

    def run(self) -> R:
        """
        Wait for the child's end and return its result.

        Raises ChildFailed when it failed, expired or could not be started, and
        ChildCancelled when it was cancelled or terminated.
        """
        return cast(R, self._pass.child(self._call))

    def detach(self) -> Handle[R]:
        """Start the child, wait for nothing, and return its handle."""
        run_id, instance_id, tenant = self._pass.child(
            replace(self._call, detached=True)
        )
        answer = Answer(
            accepted=True, outcome="", run_id=run_id, instance_id=instance_id
        )
        return Handle.of_answer(answer, tenant=tenant)

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        vars(other).update(_call=replace(self._call, **changes))
        return other


def child(
    pass_: Pass, flow: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Child[Any]:
    """
    Return the child of ``self.child(...)``.

    Raises DefinitionError for what is no workflow and for options that a child can't
    have, WrongArguments, Unserialisable or PayloadTooLarge.
    """
    start = flow if isinstance(flow, Start) else starting(flow, {})
    return Child(pass_, start.child_call(*args, **kwargs))

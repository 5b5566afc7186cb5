"""Call ``handle()`` once, from the top, and say how it was left."""

from __future__ import annotations

from typing import Any

from saga_flow import registry
from saga_flow.engine import closing
from saga_flow.engine.calls import Calls
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import (
    Broken,
    Mismatched,
    Outdone,
    Paused,
    Returned,
    Unwind,
)
from saga_flow.exceptions import DefiniteFailure, SagaFlowError, UnknownDefinition
from saga_flow.records import Claim
from saga_flow.serialization.arguments import decode_arguments


def handle(pass_: Pass) -> BaseException:
    """
    What left ``handle()``: Returned, another Unwind, or what the author's code threw.

    An engine call that ended the pass counts even where ``handle()`` swallowed it.
    """
    try:
        definition = registry.workflow(pass_.claim.workflow_name)
    except UnknownDefinition as error:
        return Paused(f"this build has no such workflow: {error}")
    try:
        args, kwargs = _arguments(pass_.claim, definition.cls)
    except SagaFlowError as error:
        return Mismatched(DefiniteFailure(str(error)))
    workflow, left = _called(pass_, definition.cls, args, kwargs)
    if not isinstance(left, Outdone | Broken | SystemExit):
        closing.summarise(pass_, workflow)
    return left


def _arguments(claim: Claim, cls: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if claim.arguments is None:
        raise DefiniteFailure(f"The arguments of run {claim.run} are missing.")
    return decode_arguments(
        claim.arguments, cls.handle, what=claim.workflow_name, skip_self=True
    )


def _called(
    pass_: Pass, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, BaseException]:
    workflow = None
    try:
        workflow = cls()
        workflow._bind(Calls(pass_))
        value = workflow.handle(*args, **kwargs)
        pass_.still_going()
        pass_.check_end()
    except Unwind as unwind:
        return workflow, pass_.unwinding or unwind
    except SystemExit as error:
        return workflow, error
    except Exception as error:  # noqa: BLE001 - whatever the author's code throws
        return workflow, pass_.unwinding or error
    return workflow, Returned(value)

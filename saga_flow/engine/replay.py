"""Call ``handle()`` once, from the top, and say how it was left."""

from __future__ import annotations

from typing import Any

from saga_flow import registry
from saga_flow.engine import closing
from saga_flow.engine.calls import Calls
from saga_flow.engine.passes import Pass
from saga_flow.engine.staying import Stay
from saga_flow.engine.unwinding import (
    Broken,
    Mismatched,
    Outdone,
    Paused,
    Returned,
    Unwind,
)
from saga_flow.engine.watching import Watch
from saga_flow.exceptions import (
    CodecFailed,
    DefiniteFailure,
    PayloadNotDecodable,
    SagaFlowError,
    UnknownDefinition,
)
from saga_flow.records import Claim
from saga_flow.serialization.arguments import decode_arguments
from saga_flow.serialization.text import tree_of


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
        return Mismatched(error)
    workflow, left = _called(pass_, definition.cls, args, kwargs)
    if not isinstance(left, Outdone | Broken | SystemExit):
        closing.summarise(pass_, workflow)
    return left


def _arguments(claim: Claim, cls: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """
    The arguments as ``handle()`` takes them now.

    Missing or broken text is a definite failure; a signature that no longer takes
    what is stored is a mismatch, which a deploy can mend, and so is sealed text that
    can't be opened here.
    """
    what = f"arguments of run {claim.run}"
    if claim.arguments is None:
        raise DefiniteFailure(f"The {what} are missing.")
    try:
        tree_of(claim.arguments, what=what)
    except CodecFailed:
        raise  # nothing is known to be broken, and a deploy can mend it
    except PayloadNotDecodable as error:
        raise DefiniteFailure(str(error)) from error
    return decode_arguments(
        claim.arguments, cls.handle, what=claim.workflow_name, skip_self=True
    )


def _called(
    pass_: Pass, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, BaseException]:
    workflow = None
    watch, stay = Watch(pass_.claim.workflow_name), Stay(pass_)
    try:
        with stay.inside(), watch.on():
            workflow = cls()
            workflow._bind(Calls(pass_, watch, stay))
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

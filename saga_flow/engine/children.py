"""``self.child(...)`` in a pass: start a child, wait for it, hand on its outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid5

from saga_flow import conf, tenancy
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Suspended
from saga_flow.exceptions import ChildCancelled, ChildFailed
from saga_flow.ids import uuid7
from saga_flow.records import ChildCall, ChildFacts, NewChild, StartOrder, Wait
from saga_flow.states import ChildStatus

OPEN: Final = frozenset({ChildStatus.PENDING, ChildStatus.RUNNING})


def child(pass_: Pass, call: ChildCall) -> Any:
    """
    What the child returned, decoded.

    Raises ChildFailed or ChildCancelled, the same in every mode and on every pass.
    """
    ordinal, recorded = take(pass_, call)
    if recorded is None:
        schedule(pass_, ordinal, call)
    if recorded is None or recorded.status in OPEN:
        raise pass_.leave(Suspended(_wait(call, at_once=False)))
    return outcome(pass_, recorded, call)


def detach(pass_: Pass, call: ChildCall) -> tuple[UUID, str, str]:
    """The run that was started, its instance id and its tenant; nothing is awaited."""
    ordinal, recorded = take(pass_, call)
    if recorded is None:
        schedule(pass_, ordinal, call)
        raise pass_.leave(Suspended(_wait(call, at_once=True)))
    return recorded.child, _instance_id(pass_, ordinal, call), pass_.claim.tenant


def take(pass_: Pass, call: ChildCall) -> tuple[int, ChildFacts | None]:
    """The next ordinal, and the child that is recorded there."""
    name = call.order.workflow_name
    ordinal, recorded = pass_.take(f"child {name!r}", ChildFacts)
    if recorded is not None and recorded.workflow_name != name:
        raise pass_.mismatch(ordinal, f"child {name!r}")
    return ordinal, recorded


def schedule(pass_: Pass, ordinal: int, call: ChildCall) -> None:
    """Have the child and the link to it written by the suspension."""
    pass_.pending.children.append(
        NewChild(
            sequence=ordinal,
            run=uuid7(),
            order=_order(pass_, ordinal, call),
            close_policy=call.close_policy,
            continue_on_failure=call.continue_on_failure,
        )
    )


def outcome(pass_: Pass, recorded: ChildFacts, call: ChildCall) -> Any:
    """What an ended child came to. Raises ChildFailed or ChildCancelled."""
    what = f"result of child {recorded.workflow_name}"
    if recorded.status is ChildStatus.COMPLETED:
        return pass_.decoded(recorded.result or "null", call.annotation, what)
    if recorded.status is ChildStatus.FAILED and call.continue_on_failure:
        return None
    error = pass_.decoded(recorded.error or "null", Any, f"error of {what}") or {}
    kind = ChildFailed if recorded.status is ChildStatus.FAILED else ChildCancelled
    raise kind(
        name=recorded.workflow_name,
        sequence=recorded.sequence,
        run_id=recorded.child,
        status=error.get("status", recorded.status.value),
        type=error.get("type", ""),
        message=error.get("message", ""),
    )


def _order(pass_: Pass, ordinal: int, call: ChildCall) -> StartOrder:
    claim, order = pass_.claim, call.order
    return replace(
        order,
        instance_id=_instance_id(pass_, ordinal, call),
        tenant=claim.tenant,
        tenancy=tenancy.inherited(claim.tenancy, restored=call.restores_tenancy),
        queue=order.queue or conf.get().QUEUE,
    )


def _instance_id(pass_: Pass, ordinal: int, call: ChildCall) -> str:
    """As named, or else the same on every pass."""
    return call.order.instance_id or str(uuid5(pass_.claim.run, f"child:{ordinal}"))


def _wait(call: ChildCall, *, at_once: bool) -> Wait:
    name = call.order.workflow_name
    return Wait(
        wake_at=None,
        kind="child",
        name=name,
        reason=f"waiting for child {name!r}",
        at_once=at_once,
    )

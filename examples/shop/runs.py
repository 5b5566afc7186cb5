"""Start, read and approve the checkout runs, as any project would: by handle."""

from __future__ import annotations

from typing import Any

from examples.shop.orders import Order
from examples.shop.standing import OrderRun, StepRun, reason_of
from examples.shop.workflows import APPROVAL, Approval, Checkout
from saga_flow import Handle, flows
from saga_flow.states import CompensationState, FlowStatus


def start(order: Order) -> None:
    """Place the order: queue its run, under the order's id."""
    Checkout.using(
        instance_id=order.order_id, tags={"country": order.address["country"]}
    ).start(order.order_id, order.cents, order.card, order.items, order.address)


def read() -> list[OrderRun]:
    """Return every order's run as it stands now."""
    asking = flows.filter(workflow=Checkout, awaiting_signal=APPROVAL).iterator()
    awaiting = {one.instance_id for one in asking}
    every = flows.filter(workflow=Checkout).iterator()
    return [_order_run(one, awaiting) for one in every]


def steps(order_id: str) -> list[StepRun]:
    """Return the steps of the order's run, in order."""
    return [
        StepRun(
            name=step.name.rpartition(".")[2],
            status=str(step.status),
            attempt=step.attempt,
        )
        for step in flows.load(order_id).actions()
    ]


def decide(order: Order) -> None:
    """Send the order's run what a person decides."""
    flows.load(order.order_id).signal(
        APPROVAL, Approval(approved=order.accepted, by="demo")
    )


def _order_run(handle: Handle[Any], awaiting: set[str]) -> OrderRun:
    ended = FlowStatus(handle.status) in FlowStatus.terminal()
    return OrderRun(
        order_id=handle.instance_id,
        status=str(handle.status),
        reason=reason_of(handle.error) if ended else handle.wait_reason,
        awaits_approval=(
            handle.status == FlowStatus.WAITING and handle.instance_id in awaiting
        ),
        rollback_failed=handle.compensation_state == CompensationState.FAILED,
    )

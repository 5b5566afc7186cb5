"""The shop's one workflow: from the card to the parcel, or all the way back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from examples.shop.actions import (
    charge_card,
    notify_customer,
    refund_card,
    release_stock,
    reserve_stock,
    ship_order,
)
from saga_flow import RESULT, Workflow

APPROVAL_LIMIT_CENTS = 50_000
"""An order of more than this many cents waits for a person."""

APPROVAL = "approval"
"""The signal by which a person decides."""

APPROVAL_WAIT = timedelta(days=1)
"""How long that person has; afterwards the order is given up and undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's decision on a large order."""

    approved: bool
    by: str


class OrderRejected(Exception):
    """A person looked at the order and said no."""


class Checkout(Workflow):
    """
    Charge, reserve, ask for approval over a limit, ship, notify.

    Whatever fails on the way gives back what was taken before it: the articles
    first, then the money.
    """

    class Meta:
        """The name under which runs are stored."""

        name = "shop.checkout"

    def handle(
        self,
        order_id: str,
        cents: int,
        card: str,
        items: dict[str, int],
        address: dict[str, str],
    ) -> dict[str, str]:
        """Take the order through; return its charge and its tracking number."""
        charge = (
            self.action(charge_card, order_id, cents, card)
            .compensate_with(refund_card, order_id, RESULT)
            # A gateway that never answered may still have taken the money.
            .compensate_on_own_failure()
            .run()
        )
        self.action(reserve_stock, order_id, items).compensate_with(
            release_stock, order_id
        ).run()
        if cents > APPROVAL_LIMIT_CENTS:
            self._await_approval(order_id)
        tracking = self.action(ship_order, order_id, address).run()
        self.action(notify_customer, order_id, address["email"], tracking).run()
        return {"charge": charge, "tracking": tracking}

    def _await_approval(self, order_id: str) -> None:
        decision = self.signal(APPROVAL, Approval).wait(timeout=APPROVAL_WAIT)
        if not decision.approved:
            raise OrderRejected(f"{order_id} was rejected by {decision.by}")

"""The shop's steps and their undos: thin calls of the backend."""

from __future__ import annotations

from datetime import timedelta

from examples.shop import gate
from examples.shop.backend import notices, payments, shipping, stock
from examples.shop.backend.errors import (
    AddressUndeliverable,
    CardDeclined,
    IdempotencyKeyReused,
    MailboxUnavailable,
    OutOfStock,
)
from saga_flow import Retry, action, current_step

_PATIENT = Retry(
    attempts=4,
    delay=timedelta(milliseconds=200),
    backoff=2,
    non_retryable=(
        AddressUndeliverable,
        CardDeclined,
        IdempotencyKeyReused,
        MailboxUnavailable,
        OutOfStock,
    ),
)


@action(retry=_PATIENT)
def charge_card(order_id: str, cents: int, card: str) -> str:
    """Take the order's money; return the charge's reference."""
    step = current_step()
    reference = payments.charge(
        order_id, cents, card, idempotency_key=step.idempotency_key
    )
    # After the money moved and before anybody knows: the worst moment to die.
    gate.hold(order_id, step.attempt)
    return reference


@action(retry=_PATIENT)
def refund_card(order_id: str, reference: str | None) -> str | None:
    """
    Give the order's money back; return the refund's reference.

    Without a *reference* the charge had no known outcome, so the gateway is asked
    whether there is one; None is returned when nothing had been taken.
    """
    taken = reference or payments.charge_of(order_id)
    if taken is None:
        return None
    return payments.refund(taken, idempotency_key=current_step().idempotency_key)


@action(retry=_PATIENT)
def reserve_stock(order_id: str, items: dict[str, int]) -> None:
    """Set the order's articles aside, all or none."""
    stock.reserve(order_id, items, idempotency_key=current_step().idempotency_key)


@action(retry=_PATIENT)
def release_stock(order_id: str) -> int:
    """Put the order's articles back; return how many kinds there were."""
    return stock.release(order_id)


@action(retry=_PATIENT)
def ship_order(order_id: str, address: dict[str, str]) -> str:
    """Hand the parcel to the carrier; return its tracking number."""
    return shipping.ship(
        order_id, address, idempotency_key=current_step().idempotency_key
    )


@action(retry=_PATIENT, optional=True)
def notify_customer(order_id: str, email: str, tracking: str) -> None:
    """Mail the tracking number; an order does not fail for a mail."""
    notices.send(
        order_id,
        email,
        f"Your order {order_id} is on its way: {tracking}",
        idempotency_key=current_step().idempotency_key,
    )

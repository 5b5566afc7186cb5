"""The payment gateway: charges and refunds, each posted to the ledger."""

from __future__ import annotations

from uuid import uuid4

from django.db import transaction

from examples.shop.backend.errors import (
    AlreadyRefunded,
    CardDeclined,
    GatewayUnavailable,
    IdempotencyKeyReused,
)
from examples.shop.models import Account, Charge, LedgerEntry, Refund

DECLINED = {
    "tok_declined": "the bank does not honour it",
    "tok_insufficient_funds": "insufficient funds",
    "tok_expired": "the card has expired",
}
"""Card tokens that are refused, with the bank's reason."""

LOSES_FIRST_ANSWER = "tok_flaky_line"
"""Card token whose requests are carried out, but the first answer gets lost."""


def charge(order_id: str, cents: int, card: str, *, idempotency_key: str) -> str:
    """
    Take *cents* from *card* and return the charge's reference.

    Raises CardDeclined, IdempotencyKeyReused, or GatewayUnavailable when the
    answer got lost after the money was taken.
    """
    if card in DECLINED:
        raise CardDeclined(f"card {card} was declined: {DECLINED[card]}")
    with transaction.atomic():
        taken, is_new = Charge.objects.get_or_create(
            idempotency_key=idempotency_key,
            defaults={
                "reference": f"ch_{uuid4().hex}",
                "order_id": order_id,
                "cents": cents,
                "card": card,
            },
        )
        if (taken.order_id, taken.cents, taken.card) != (order_id, cents, card):
            raise IdempotencyKeyReused(
                f"idempotency key {idempotency_key!r} stands for {taken}, not for"
                f" {order_id}, {cents} cents; use a new key for a new charge"
            )
        if is_new:
            _post(taken.reference, order_id, cents)
    _answer(card, is_new=is_new)
    return taken.reference


def refund(reference: str, *, idempotency_key: str) -> str:
    """
    Give the whole charge *reference* back and return the refund's reference.

    Raises AlreadyRefunded when another key gave it back before, IdempotencyKeyReused
    when the key stands for another charge's refund, and GatewayUnavailable when the
    answer got lost after the money was given back.
    """
    with transaction.atomic():
        taken = Charge.objects.select_for_update().get(reference=reference)
        known = Refund.objects.filter(idempotency_key=idempotency_key)
        if known.exclude(charge=taken).exists():
            raise IdempotencyKeyReused(
                f"idempotency key {idempotency_key!r} stands for another refund than"
                f" that of {reference}; use a new key for a new refund"
            )
        given, is_new = Refund.objects.get_or_create(
            charge=taken,
            defaults={
                "reference": f"re_{uuid4().hex}",
                "idempotency_key": idempotency_key,
            },
        )
        if given.idempotency_key != idempotency_key:
            raise AlreadyRefunded(
                f"charge {reference} was refunded as {given.reference} under"
                f" another idempotency key than {idempotency_key!r}"
            )
        if is_new:
            _post(given.reference, taken.order_id, -taken.cents)
    _answer(taken.card, is_new=is_new)
    return given.reference


def charge_of(order_id: str) -> str | None:
    """Return the reference of the order's charge; None when nothing was taken."""
    found = Charge.objects.filter(order_id=order_id).values_list("reference", flat=True)
    return found.first()


def _answer(card: str, *, is_new: bool) -> None:
    if is_new and card == LOSES_FIRST_ANSWER:
        raise GatewayUnavailable("the connection to the payment gateway timed out")


def _post(posting: str, order_id: str, cents: int) -> None:
    sides = {Account.GATEWAY: cents, Account.SALES: -cents}
    LedgerEntry.objects.bulk_create(
        LedgerEntry(posting=posting, account=account, order_id=order_id, cents=amount)
        for account, amount in sides.items()
    )

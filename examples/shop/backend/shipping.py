"""The carrier: takes parcels to addresses it serves."""

from __future__ import annotations

from uuid import uuid4

from django.db import transaction

from examples.shop.backend.errors import AddressUndeliverable, IdempotencyKeyReused
from examples.shop.models import Shipment

SERVED = frozenset({"AT", "BE", "CH", "DE", "DK", "FR", "IE", "IT", "NL", "SE"})
"""ISO codes of the countries that the carrier drives to."""


def ship(order_id: str, address: dict[str, str], *, idempotency_key: str) -> str:
    """
    Hand the order's parcel to the carrier and return its tracking number.

    *address* has name, street, city, postcode and country (ISO code). Raises
    AddressUndeliverable, and IdempotencyKeyReused when the order left before
    under another key.
    """
    _check(address)
    with transaction.atomic():
        parcel, _ = Shipment.objects.get_or_create(
            order_id=order_id,
            defaults={
                "tracking": f"PX{uuid4().int % 10**12:012d}",
                "idempotency_key": idempotency_key,
                "addressee": address["name"],
                "country": address["country"],
            },
        )
        if parcel.idempotency_key != idempotency_key:
            raise IdempotencyKeyReused(
                f"order {order_id} left as {parcel.tracking} under another"
                f" idempotency key than {idempotency_key!r}; an order ships once"
            )
    return parcel.tracking


def _check(address: dict[str, str]) -> None:
    if address["country"] not in SERVED:
        raise AddressUndeliverable(
            f"the carrier does not serve {address['country']}, only"
            f" {', '.join(sorted(SERVED))}"
        )
    if address["street"].upper().startswith("PO BOX"):
        raise AddressUndeliverable(
            f"{address['street']!r} is a post office box; parcels need a street"
        )

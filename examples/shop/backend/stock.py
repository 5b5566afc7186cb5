"""The warehouse: articles and what is set aside for orders."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from examples.shop.backend.errors import IdempotencyKeyReused, OutOfStock
from examples.shop.models import Reservation, StockItem


def receive(sku: str, name: str, quantity: int) -> None:
    """Put *quantity* new pieces of article *sku* on the shelf."""
    with transaction.atomic():
        StockItem.objects.get_or_create(
            sku=sku, defaults={"name": name, "received": 0, "on_hand": 0}
        )
        StockItem.objects.filter(sku=sku).update(
            received=F("received") + quantity, on_hand=F("on_hand") + quantity
        )


def reserve(order_id: str, items: dict[str, int], *, idempotency_key: str) -> None:
    """
    Set all *items* (pieces by article) aside for the order, or none of them.

    Raises OutOfStock, naming the article, and IdempotencyKeyReused when the order
    has reservations under another key.
    """
    with transaction.atomic():
        keys = set(
            Reservation.objects.filter(order_id=order_id).values_list(
                "idempotency_key", flat=True
            )
        )
        if keys - {idempotency_key}:
            raise IdempotencyKeyReused(
                f"order {order_id} was reserved under {sorted(keys)}, not under"
                f" {idempotency_key!r}; an order is reserved once"
            )
        if not keys:
            # By article, so that two orders never wait for each other's rows.
            for sku, quantity in sorted(items.items()):
                _set_aside(order_id, sku, quantity, idempotency_key)


def release(order_id: str) -> int:
    """Put back what is set aside for the order; return the number of articles."""
    with transaction.atomic():
        held = Reservation.objects.select_for_update().filter(
            order_id=order_id, released=False
        )
        released = 0
        for one in held.order_by("item__sku"):
            if Reservation.objects.filter(pk=one.pk, released=False).update(
                released=True
            ):
                StockItem.objects.filter(pk=one.item_id).update(
                    on_hand=F("on_hand") + one.quantity
                )
                released += 1
    return released


def _set_aside(order_id: str, sku: str, quantity: int, idempotency_key: str) -> None:
    shelf = StockItem.objects.filter(sku=sku)
    if not shelf.filter(on_hand__gte=quantity).update(on_hand=F("on_hand") - quantity):
        left = shelf.values_list("on_hand", flat=True).first()
        raise OutOfStock(f"{quantity} x {sku} wanted, {left or 0} on hand")
    Reservation.objects.create(
        order_id=order_id,
        item=shelf.get(),
        quantity=quantity,
        idempotency_key=idempotency_key,
    )

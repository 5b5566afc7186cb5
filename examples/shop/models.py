"""
The fake outside world's own tables.

They stand for a payment gateway, a warehouse, a carrier and a mail server, so
they know nothing of sagas. Money is in whole cents.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Charge(models.Model):
    """Money that the gateway took from a card, once per idempotency key."""

    reference = models.CharField(max_length=40, unique=True)
    idempotency_key = models.CharField(max_length=120, unique=True)
    order_id = models.CharField(max_length=40, db_index=True)
    card = models.CharField(max_length=60)
    cents = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(cents__gt=0), name="shop_charge_is_positive"
            )
        ]

    def __str__(self) -> str:
        """Name the charge, its order and its amount."""
        return f"{self.reference} ({self.order_id}, {self.cents} cents)"


class Refund(models.Model):
    """A charge given back whole; one charge has at most one."""

    reference = models.CharField(max_length=40, unique=True)
    idempotency_key = models.CharField(max_length=120, unique=True)
    charge = models.OneToOneField(Charge, on_delete=models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        """Name the refund and its charge."""
        return f"{self.reference} of {self.charge}"


class Account(models.TextChoices):
    """Where the shop's books keep money."""

    GATEWAY = "gateway", "Held by the payment gateway"
    SALES = "sales", "Sold to customers"


class LedgerEntry(models.Model):
    """One side of a posting; the sides of a posting add up to nothing."""

    posting = models.CharField(max_length=60)
    account = models.CharField(max_length=20, choices=Account.choices)
    order_id = models.CharField(max_length=40, db_index=True)
    cents = models.BigIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["posting", "account"], name="shop_ledger_posted_once"
            )
        ]

    def __str__(self) -> str:
        """Name the posting, the account and the amount."""
        return f"{self.posting} {self.account} {self.cents:+d}"


class StockItem(models.Model):
    """An article: what the warehouse received of it and what is still on hand."""

    sku = models.CharField(max_length=40, unique=True)
    name = models.CharField(max_length=120)
    received = models.PositiveIntegerField()
    on_hand = models.PositiveIntegerField()

    def __str__(self) -> str:
        """Name the article and what is left of it."""
        return f"{self.sku} ({self.on_hand} of {self.received})"


class Reservation(models.Model):
    """
    Pieces of one article set aside for one order.

    A released one stays as a row, so that a reservation that comes late, from a
    worker long given up, finds it and takes nothing again.
    """

    order_id = models.CharField(max_length=40)
    item = models.ForeignKey(StockItem, on_delete=models.PROTECT)
    quantity = models.PositiveIntegerField()
    idempotency_key = models.CharField(max_length=120)
    released = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["order_id", "item"], name="shop_reservation_once"
            ),
            models.CheckConstraint(
                condition=models.Q(quantity__gt=0), name="shop_reservation_is_positive"
            ),
        ]

    def __str__(self) -> str:
        """Name the order, the article and the quantity."""
        return f"{self.order_id}: {self.quantity} x {self.item.sku}"


class Shipment(models.Model):
    """A parcel that the carrier took, once per order."""

    tracking = models.CharField(max_length=40, unique=True)
    idempotency_key = models.CharField(max_length=120, unique=True)
    order_id = models.CharField(max_length=40, unique=True)
    addressee = models.CharField(max_length=120)
    country = models.CharField(max_length=2)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        """Name the parcel and its order."""
        return f"{self.tracking} ({self.order_id})"


class Notice(models.Model):
    """A mail sent to a customer, once per idempotency key."""

    idempotency_key = models.CharField(max_length=120, unique=True)
    order_id = models.CharField(max_length=40, db_index=True)
    email = models.CharField(max_length=120)
    text = models.CharField(max_length=200)

    def __str__(self) -> str:
        """Name the order and the address."""
        return f"{self.order_id} to {self.email}"

"""Read what the outside world holds into the proof's rows."""

from __future__ import annotations

from examples.shop.ledger import (
    ChargeRow,
    EntryRow,
    RefundRow,
    ReservationRow,
    StockRow,
    World,
)
from examples.shop.models import (
    Charge,
    LedgerEntry,
    Refund,
    Reservation,
    Shipment,
    StockItem,
)


def read_world() -> World:
    """Return all rows that the proof is about."""
    return World(
        charges=tuple(
            ChargeRow(reference=one.reference, order_id=one.order_id, cents=one.cents)
            for one in Charge.objects.all()
        ),
        refunds=tuple(
            RefundRow(reference=one.reference, charge=one.charge.reference)
            for one in Refund.objects.select_related("charge")
        ),
        entries=tuple(
            EntryRow(posting=one.posting, account=one.account, cents=one.cents)
            for one in LedgerEntry.objects.all()
        ),
        reservations=tuple(
            ReservationRow(
                order_id=one.order_id, sku=one.item.sku, quantity=one.quantity
            )
            for one in Reservation.objects.filter(released=False).select_related("item")
        ),
        stock=tuple(
            StockRow(sku=one.sku, received=one.received, on_hand=one.on_hand)
            for one in StockItem.objects.all()
        ),
        shipments=tuple(Shipment.objects.values_list("order_id", flat=True)),
    )

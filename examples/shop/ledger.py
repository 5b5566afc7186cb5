"""
The proof that no money, parcel or article was lost or moved twice.

Pure functions over rows: how each order ended on one side, what the outside world
holds on the other. An empty list of faults is the proof.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum


class Ending(Enum):
    """How far an order's saga came, as the proof tells them apart."""

    COMPLETED = "completed"
    ROLLED_BACK = "rolled back"
    AWAITING_APPROVAL = "waiting for approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeRow:
    """A charge that the gateway holds, in cents."""

    reference: str
    order_id: str
    cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundRow:
    """A refund that the gateway holds: it gives its charge back whole."""

    reference: str
    charge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One side of a ledger posting, in cents."""

    posting: str
    account: str
    cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRow:
    """Pieces of an article that are set aside for an order now."""

    order_id: str
    sku: str
    quantity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StockRow:
    """An article: pieces ever received, pieces on hand."""

    sku: str
    received: int
    on_hand: int


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that the outside world holds; *shipments* are order ids, one a parcel."""

    charges: tuple[ChargeRow, ...] = ()
    refunds: tuple[RefundRow, ...] = ()
    entries: tuple[EntryRow, ...] = ()
    reservations: tuple[ReservationRow, ...] = ()
    stock: tuple[StockRow, ...] = ()
    shipments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An order as it was placed, and how its saga ended."""

    order_id: str
    cents: int
    ending: Ending
    items: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """What the gateway took, gave back and keeps, in cents."""

    charged: int
    refunded: int

    @property
    def kept(self) -> int:
        """What the gateway holds for the shop."""
        return self.charged - self.refunded


def money(world: World) -> Money:
    """Add up the world's charges and refunds."""
    cents = {charge.reference: charge.cents for charge in world.charges}
    return Money(
        charged=sum(charge.cents for charge in world.charges),
        refunded=sum(cents.get(refund.charge, 0) for refund in world.refunds),
    )


def faults(orders: Iterable[Expected], world: World) -> list[str]:
    """Return what is wrong, a sentence each; empty when everything balances."""
    expected = {order.order_id: order for order in orders}
    return [
        *_strangers(expected, world),
        *_order_faults(expected.values(), world),
        *_book_faults(world),
        *_stock_faults(world),
    ]


def _strangers(expected: dict[str, Expected], world: World) -> Iterator[str]:
    known = {charge.reference for charge in world.charges}
    for refund in world.refunds:
        if refund.charge not in known:
            yield f"refund {refund.reference} is of no charge that was taken"
    held = {charge.order_id for charge in world.charges} | set(world.shipments)
    held |= {reservation.order_id for reservation in world.reservations}
    for order_id in sorted(held - expected.keys()):
        yield f"{order_id}: money, articles or a parcel for an order nobody placed"


def _order_faults(orders: Iterable[Expected], world: World) -> Iterator[str]:
    charges: dict[str, list[ChargeRow]] = defaultdict(list)
    for charge in world.charges:
        charges[charge.order_id].append(charge)
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for reservation in world.reservations:
        held[reservation.order_id][reservation.sku] += reservation.quantity
    refunds = Counter(refund.charge for refund in world.refunds)
    parcels = Counter(world.shipments)
    for order in orders:
        own = charges[order.order_id]
        yield from _charge_faults(order, own, refunds)
        yield from _parcel_faults(order, parcels[order.order_id])
        yield from _held_faults(order, held[order.order_id])


def _charge_faults(
    order: Expected, charges: list[ChargeRow], refunds: Counter[str]
) -> Iterator[str]:
    about = f"{order.order_id} ({order.ending.value})"
    back = 1 if order.ending is Ending.ROLLED_BACK else 0
    # A rolled-back order may never have been charged: its card was declined.
    if len(charges) > 1 or (not charges and not back):
        yield f"{about}: charged {len(charges)} times, not once"
    for charge in charges:
        if charge.cents != order.cents:
            yield f"{about}: charged {charge.cents} cents, not {order.cents}"
        times = refunds[charge.reference]
        if times != back:
            yield f"{about}: refunded {times} times, not {back}"


def _parcel_faults(order: Expected, parcels: int) -> Iterator[str]:
    wanted = 1 if order.ending is Ending.COMPLETED else 0
    if parcels != wanted:
        yield (
            f"{order.order_id} ({order.ending.value}): shipped {parcels} times,"
            f" not {wanted}"
        )


def _held_faults(order: Expected, held: Counter[str]) -> Iterator[str]:
    wanted = {} if order.ending is Ending.ROLLED_BACK else order.items
    if dict(held) != wanted:
        yield (
            f"{order.order_id} ({order.ending.value}): {dict(held)} set aside,"
            f" not {wanted}"
        )


def _book_faults(world: World) -> Iterator[str]:
    postings: Counter[str] = Counter()
    balances: Counter[str] = Counter()
    for entry in world.entries:
        postings[entry.posting] += entry.cents
        balances[entry.account] += entry.cents
    for posting, cents in sorted(postings.items()):
        if cents:
            yield f"posting {posting} does not balance: {cents:+d} cents"
    moved = {charge.reference for charge in world.charges}
    moved |= {refund.reference for refund in world.refunds}
    for posting in sorted(moved ^ postings.keys()):
        yield f"{posting} moved money without a posting, or was posted without moving"
    kept = money(world).kept
    if balances["gateway"] != kept:
        yield f"the books say {balances['gateway']} cents, the gateway holds {kept}"


def _stock_faults(world: World) -> Iterator[str]:
    held: Counter[str] = Counter()
    for reservation in world.reservations:
        held[reservation.sku] += reservation.quantity
    for item in world.stock:
        if item.on_hand + held[item.sku] != item.received:
            yield (
                f"{item.sku}: {item.on_hand} on hand and {held[item.sku]} set aside"
                f" of {item.received} received"
            )

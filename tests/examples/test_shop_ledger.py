"""The proof says so when money, parcels or articles went missing or twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from examples.shop.ledger import (
    ChargeRow,
    Ending,
    EntryRow,
    Expected,
    Money,
    RefundRow,
    ReservationRow,
    StockRow,
    World,
    faults,
    money,
)

pytestmark = pytest.mark.unit

DONE = Expected(order_id="SO-1", cents=500, ending=Ending.COMPLETED, items={"MUG": 2})
UNDONE = Expected(
    order_id="SO-2", cents=700, ending=Ending.ROLLED_BACK, items={"MUG": 1}
)
WAITING = Expected(
    order_id="SO-3", cents=900, ending=Ending.AWAITING_APPROVAL, items={"MUG": 3}
)
ORDERS = (DONE, UNDONE, WAITING)


def posted(posting: str, cents: int) -> tuple[EntryRow, EntryRow]:
    return (
        EntryRow(posting=posting, account="gateway", cents=cents),
        EntryRow(posting=posting, account="sales", cents=-cents),
    )


BALANCED = World(
    charges=(
        ChargeRow(reference="ch_1", order_id="SO-1", cents=500),
        ChargeRow(reference="ch_2", order_id="SO-2", cents=700),
        ChargeRow(reference="ch_3", order_id="SO-3", cents=900),
    ),
    refunds=(RefundRow(reference="re_2", charge="ch_2"),),
    entries=(
        *posted("ch_1", 500),
        *posted("ch_2", 700),
        *posted("ch_3", 900),
        *posted("re_2", -700),
    ),
    reservations=(
        ReservationRow(order_id="SO-1", sku="MUG", quantity=2),
        ReservationRow(order_id="SO-3", sku="MUG", quantity=3),
    ),
    stock=(StockRow(sku="MUG", received=10, on_hand=5),),
    shipments=("SO-1",),
)


def test_a_world_in_order_has_no_faults() -> None:
    assert faults(ORDERS, BALANCED) == []


def test_the_money_kept_is_what_was_not_given_back() -> None:
    assert money(BALANCED) == Money(charged=2100, refunded=700)
    assert money(BALANCED).kept == 1400


def test_a_declined_order_needs_no_refund() -> None:
    assert faults([replace(UNDONE, order_id="SO-9")], World()) == []


def test_a_missing_refund_is_found() -> None:
    world = replace(BALANCED, refunds=(), entries=BALANCED.entries[:6])

    assert faults(ORDERS, world) == ["SO-2 (rolled back): refunded 0 times, not 1"]


def test_a_doubled_refund_is_found() -> None:
    again = RefundRow(reference="re_2b", charge="ch_2")
    world = replace(
        BALANCED,
        refunds=(*BALANCED.refunds, again),
        entries=(*BALANCED.entries, *posted("re_2b", -700)),
    )

    assert faults(ORDERS, world) == ["SO-2 (rolled back): refunded 2 times, not 1"]


def test_a_refund_of_a_completed_order_is_found() -> None:
    wrong = RefundRow(reference="re_1", charge="ch_1")
    world = replace(
        BALANCED,
        refunds=(*BALANCED.refunds, wrong),
        entries=(*BALANCED.entries, *posted("re_1", -500)),
    )

    assert faults(ORDERS, world) == ["SO-1 (completed): refunded 1 times, not 0"]


def test_a_refund_of_no_charge_is_found() -> None:
    world = replace(
        BALANCED, refunds=(*BALANCED.refunds, RefundRow(reference="re_x", charge="?"))
    )

    assert "refund re_x is of no charge that was taken" in faults(ORDERS, world)


def test_a_doubled_charge_is_found() -> None:
    again = ChargeRow(reference="ch_1b", order_id="SO-1", cents=500)
    world = replace(
        BALANCED,
        charges=(*BALANCED.charges, again),
        entries=(*BALANCED.entries, *posted("ch_1b", 500)),
    )

    assert faults(ORDERS, world) == ["SO-1 (completed): charged 2 times, not once"]


@pytest.mark.parametrize("order", [DONE, WAITING], ids=lambda one: one.order_id)
def test_a_missing_charge_is_found(order: Expected) -> None:
    found = faults([order], World())

    assert f"{order.order_id} ({order.ending.value}): charged 0 times, not once" in (
        found
    )


def test_a_charge_of_another_amount_is_found() -> None:
    found = faults([replace(DONE, cents=499), UNDONE, WAITING], BALANCED)

    assert found == ["SO-1 (completed): charged 500 cents, not 499"]


@pytest.mark.parametrize(
    ("shipments", "fault"),
    [
        ((), "SO-1 (completed): shipped 0 times, not 1"),
        (("SO-1", "SO-1"), "SO-1 (completed): shipped 2 times, not 1"),
        (("SO-1", "SO-2"), "SO-2 (rolled back): shipped 1 times, not 0"),
        (("SO-1", "SO-3"), "SO-3 (waiting for approval): shipped 1 times, not 0"),
    ],
)
def test_a_parcel_too_few_or_too_many_is_found(
    shipments: tuple[str, ...], fault: str
) -> None:
    assert faults(ORDERS, replace(BALANCED, shipments=shipments)) == [fault]


def test_articles_left_aside_for_an_undone_order_are_found() -> None:
    left = ReservationRow(order_id="SO-2", sku="MUG", quantity=1)
    world = replace(
        BALANCED,
        reservations=(*BALANCED.reservations, left),
        stock=(StockRow(sku="MUG", received=10, on_hand=4),),
    )

    assert faults(ORDERS, world) == ["SO-2 (rolled back): {'MUG': 1} set aside, not {}"]


def test_articles_that_nobody_can_account_for_are_found() -> None:
    world = replace(BALANCED, stock=(StockRow(sku="MUG", received=10, on_hand=6),))

    assert faults(ORDERS, world) == ["MUG: 6 on hand and 5 set aside of 10 received"]


def test_one_sided_postings_are_found() -> None:
    world = replace(BALANCED, entries=BALANCED.entries[:-1])

    assert faults(ORDERS, world) == ["posting re_2 does not balance: -700 cents"]


def test_money_that_moved_without_a_posting_is_found() -> None:
    world = replace(BALANCED, entries=BALANCED.entries[:-2])

    assert faults(ORDERS, world) == [
        "re_2 moved money without a posting, or was posted without moving",
        "the books say 2100 cents, the gateway holds 1400",
    ]


def test_money_for_an_order_nobody_placed_is_found() -> None:
    found = faults([DONE, UNDONE], BALANCED)

    assert found == ["SO-3: money, articles or a parcel for an order nobody placed"]

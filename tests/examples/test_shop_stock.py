"""The fake warehouse sets aside all or nothing, once, and never oversells."""

from __future__ import annotations

import pytest

from examples.shop.backend import stock
from examples.shop.backend.errors import IdempotencyKeyReused, OutOfStock
from examples.shop.models import Reservation, StockItem

pytestmark = [pytest.mark.integration, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def shelf() -> None:
    stock.receive("MUG", "Mug", 5)
    stock.receive("PAN", "Pan", 1)


def on_hand() -> dict[str, int]:
    return dict(StockItem.objects.values_list("sku", "on_hand"))


def test_a_delivery_of_a_known_article_adds_to_it() -> None:
    stock.receive("MUG", "Mug", 3)

    mug = StockItem.objects.get(sku="MUG")
    assert (mug.received, mug.on_hand) == (8, 8)


def test_a_reservation_takes_the_pieces_off_the_shelf() -> None:
    stock.reserve("SO-1", {"MUG": 2, "PAN": 1}, idempotency_key="k")

    assert on_hand() == {"MUG": 3, "PAN": 0}


def test_a_second_attempt_with_the_same_key_takes_nothing_more() -> None:
    stock.reserve("SO-1", {"MUG": 2}, idempotency_key="k")
    stock.reserve("SO-1", {"MUG": 2}, idempotency_key="k")

    assert on_hand()["MUG"] == 3


def test_an_order_is_not_reserved_under_a_second_key() -> None:
    stock.reserve("SO-1", {"MUG": 2}, idempotency_key="k")

    with pytest.raises(IdempotencyKeyReused, match="SO-1"):
        stock.reserve("SO-1", {"MUG": 2}, idempotency_key="other")
    assert on_hand()["MUG"] == 3


def test_one_missing_article_sets_nothing_aside() -> None:
    with pytest.raises(OutOfStock, match="2 x PAN wanted, 1 on hand"):
        stock.reserve("SO-1", {"MUG": 2, "PAN": 2}, idempotency_key="k")

    assert on_hand() == {"MUG": 5, "PAN": 1}
    assert not Reservation.objects.exists()


def test_an_unknown_article_is_out_of_stock() -> None:
    with pytest.raises(OutOfStock, match="1 x SPOON wanted, 0 on hand"):
        stock.reserve("SO-1", {"SPOON": 1}, idempotency_key="k")


def test_releasing_puts_back_once() -> None:
    stock.reserve("SO-1", {"MUG": 2, "PAN": 1}, idempotency_key="k")

    assert stock.release("SO-1") == 2
    assert stock.release("SO-1") == 0
    assert on_hand() == {"MUG": 5, "PAN": 1}


def test_a_late_attempt_after_the_release_takes_nothing_again() -> None:
    stock.reserve("SO-1", {"MUG": 2}, idempotency_key="k")
    stock.release("SO-1")

    stock.reserve("SO-1", {"MUG": 2}, idempotency_key="k")

    assert on_hand()["MUG"] == 5

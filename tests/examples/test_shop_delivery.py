"""The fake carrier and mail server: once a key, and honest about refusals."""

from __future__ import annotations

import pytest

from examples.shop.backend import notices, shipping
from examples.shop.backend.errors import (
    AddressUndeliverable,
    IdempotencyKeyReused,
    MailboxUnavailable,
)
from examples.shop.models import Notice, Shipment

pytestmark = [pytest.mark.integration, pytest.mark.django_db]

ADDRESS = {"name": "Greta Quist", "street": "Lindenweg 3", "country": "DE"}


def ship(key: str = "run:2", **changes: str) -> str:
    return shipping.ship("SO-1", ADDRESS | changes, idempotency_key=key)


def test_a_second_attempt_with_the_same_key_ships_nothing_more() -> None:
    assert ship() == ship()
    assert Shipment.objects.count() == 1


def test_an_order_does_not_ship_under_a_second_key() -> None:
    tracking = ship()

    with pytest.raises(IdempotencyKeyReused, match=tracking):
        ship("run:3")
    assert Shipment.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"country": "GL"}, "does not serve GL"), ({"street": "PO Box 7"}, "PO Box 7")],
)
def test_an_address_that_cannot_be_reached_is_refused(
    changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(AddressUndeliverable, match=reason):
        ship(**changes)

    assert not Shipment.objects.exists()


def test_a_second_attempt_with_the_same_key_mails_nothing_more() -> None:
    for _ in range(2):
        notices.send("SO-1", "greta@post.example", "on its way", idempotency_key="k")

    assert Notice.objects.count() == 1


def test_a_full_mailbox_refuses() -> None:
    with pytest.raises(MailboxUnavailable, match="mailbox full"):
        notices.send("SO-1", "g@full-mailbox.example", "hello", idempotency_key="k")

    assert not Notice.objects.exists()

"""The fake gateway keeps the promises that the shop's actions build on."""

from __future__ import annotations

from collections import Counter

import pytest

from examples.shop.backend import payments
from examples.shop.backend.errors import (
    AlreadyRefunded,
    CardDeclined,
    GatewayUnavailable,
    IdempotencyKeyReused,
)
from examples.shop.models import Charge, LedgerEntry, Refund

pytestmark = [pytest.mark.integration, pytest.mark.django_db]

GOOD = "tok_visa_4242"


def charge(key: str = "run:0", cents: int = 1999, card: str = GOOD) -> str:
    return payments.charge("SO-1", cents, card, idempotency_key=key)


def balances() -> Counter[str]:
    total: Counter[str] = Counter()
    for entry in LedgerEntry.objects.all():
        total[entry.account] += entry.cents
    return total


def test_a_charge_is_posted_on_both_sides() -> None:
    charge()

    assert balances() == {"gateway": 1999, "sales": -1999}


def test_a_second_attempt_with_the_same_key_charges_nothing_more() -> None:
    first = charge()

    assert charge() == first
    assert Charge.objects.count() == 1
    assert balances()["gateway"] == 1999


def test_a_key_that_comes_back_with_another_amount_is_refused() -> None:
    charge()

    with pytest.raises(IdempotencyKeyReused, match="run:0"):
        charge(cents=2000)
    assert balances()["gateway"] == 1999


@pytest.mark.parametrize("card", sorted(payments.DECLINED))
def test_a_declined_card_leaves_nothing_behind(card: str) -> None:
    with pytest.raises(CardDeclined, match=card):
        charge(card=card)

    assert not Charge.objects.exists()
    assert not LedgerEntry.objects.exists()


def test_an_answer_lost_after_the_charge_is_found_by_the_next_attempt() -> None:
    with pytest.raises(GatewayUnavailable):
        charge(card=payments.LOSES_FIRST_ANSWER)

    assert charge(card=payments.LOSES_FIRST_ANSWER) == payments.charge_of("SO-1")
    assert Charge.objects.count() == 1
    assert balances()["gateway"] == 1999


def test_nothing_is_found_for_an_order_that_was_never_charged() -> None:
    assert payments.charge_of("SO-1") is None


def test_a_refund_brings_the_books_back_to_nothing() -> None:
    payments.refund(charge(), idempotency_key="run:1")

    assert balances() == {"gateway": 0, "sales": 0}


def test_a_second_attempt_with_the_same_key_refunds_nothing_more() -> None:
    reference = charge()
    first = payments.refund(reference, idempotency_key="run:1")

    assert payments.refund(reference, idempotency_key="run:1") == first
    assert Refund.objects.count() == 1
    assert balances()["gateway"] == 0


def test_a_charge_is_not_refunded_under_a_second_key() -> None:
    reference = charge()
    payments.refund(reference, idempotency_key="run:1")

    with pytest.raises(AlreadyRefunded, match=reference):
        payments.refund(reference, idempotency_key="run:2")
    assert balances()["gateway"] == 0


def test_a_refund_key_does_not_stand_for_two_charges() -> None:
    payments.refund(charge("run:0"), idempotency_key="run:9")
    other = charge("run:1")

    with pytest.raises(IdempotencyKeyReused, match=other):
        payments.refund(other, idempotency_key="run:9")
    assert balances()["gateway"] == 1999


def test_a_refund_whose_answer_was_lost_is_found_by_the_next_attempt() -> None:
    card = payments.LOSES_FIRST_ANSWER
    with pytest.raises(GatewayUnavailable):
        charge(card=card)
    reference = charge(card=card)
    with pytest.raises(GatewayUnavailable):
        payments.refund(reference, idempotency_key="run:1")

    payments.refund(reference, idempotency_key="run:1")

    assert Refund.objects.count() == 1
    assert balances()["gateway"] == 0

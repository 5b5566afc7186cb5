"""A checkout goes all the way, or all the way back."""

from __future__ import annotations

import pytest

from examples.shop.backend import stock
from examples.shop.backend.notices import REFUSING_DOMAIN
from examples.shop.backend.payments import LOSES_FIRST_ANSWER
from examples.shop.ledger import Ending, Expected, faults
from examples.shop.models import Charge, Notice, Refund
from examples.shop.orders import Order
from examples.shop.runs import decide, read, steps
from examples.shop.standing import OrderRun
from examples.shop.workflows import Checkout
from examples.shop.world import read_world
from saga_flow import flows, jobs

# Without a transaction of the test around them: what a body has done by the time that
# it fails stays done, as it does in a worker.
pytestmark = [pytest.mark.integration, pytest.mark.django_db(transaction=True)]

ADDRESS = {
    "name": "Greta Quist",
    "email": "greta@post.example",
    "street": "Lindenweg 3",
    "postcode": "35037",
    "city": "Marburg",
    "country": "DE",
}


@pytest.fixture(autouse=True)
def shelf() -> None:
    stock.receive("MUG", "Mug", 3)


def order(
    *,
    cents: int = 1999,
    card: str = "tok_visa_4242",
    pieces: int = 2,
    accepted: bool = True,
    **address: str,
) -> Order:
    return Order(
        order_id="SO-1",
        cents=cents,
        card=card,
        items={"MUG": pieces},
        address=ADDRESS | address,
        accepted=accepted,
    )


def place(one: Order) -> OrderRun:
    Checkout.using(instance_id=one.order_id).run_sync(
        one.order_id, one.cents, one.card, one.items, one.address
    )
    return read()[0]


def proof(one: Order, ending: Ending) -> list[str]:
    expected = Expected(
        order_id=one.order_id, cents=one.cents, ending=ending, items=one.items
    )
    return faults([expected], read_world())


def test_a_good_order_is_charged_shipped_and_told() -> None:
    one = order()

    run = place(one)

    assert run.ending is Ending.COMPLETED
    assert proof(one, Ending.COMPLETED) == []
    assert Notice.objects.count() == 1


@pytest.mark.parametrize(
    ("one", "reason", "refunds"),
    [
        (order(card="tok_declined"), "card declined", 0),
        (order(pieces=4), "out of stock", 1),
        (order(street="PO Box 7"), "address undeliverable", 1),
    ],
    ids=["declined", "out of stock", "undeliverable"],
)
def test_an_order_that_fails_gives_everything_back(
    one: Order, reason: str, refunds: int
) -> None:
    run = place(one)

    assert (run.ending, run.reason) == (Ending.ROLLED_BACK, reason)
    assert not run.rollback_failed
    assert Refund.objects.count() == refunds
    assert proof(one, Ending.ROLLED_BACK) == []


def test_a_lost_answer_is_asked_for_again_and_charges_once() -> None:
    one = order(card=LOSES_FIRST_ANSWER)

    run = place(one)

    assert run.ending is Ending.COMPLETED
    assert steps("SO-1")[0].attempt == 2
    assert Charge.objects.count() == 1


def test_a_refund_whose_answer_was_lost_is_given_once() -> None:
    one = order(card=LOSES_FIRST_ANSWER, street="PO Box 7")

    run = place(one)

    assert not run.rollback_failed
    assert Refund.objects.count() == 1
    assert proof(one, Ending.ROLLED_BACK) == []


def test_a_mail_that_is_refused_does_not_fail_the_order() -> None:
    one = order(email=f"greta@{REFUSING_DOMAIN}")

    run = place(one)

    assert run.ending is Ending.COMPLETED
    assert steps("SO-1")[-1].status == "optional_failed"
    assert proof(one, Ending.COMPLETED) == []


@pytest.mark.parametrize(
    ("accepted", "ending", "reason"),
    [
        (True, Ending.COMPLETED, None),
        (False, Ending.ROLLED_BACK, "rejected by a person"),
    ],
)
def test_a_large_order_waits_for_a_person_who_decides(
    *, accepted: bool, ending: Ending, reason: str | None
) -> None:
    one = order(cents=50_001, accepted=accepted)
    assert place(one).ending is Ending.AWAITING_APPROVAL
    assert proof(one, Ending.AWAITING_APPROVAL) == []

    decide(one)
    jobs.drive(str(flows.load("SO-1").run_id))

    run = read()[0]
    assert run.ending is ending
    assert (run.reason if ending is Ending.ROLLED_BACK else None) == reason
    assert proof(one, ending) == []

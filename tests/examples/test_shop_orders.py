"""The checked-in orders file is whole and shows every way an order can go."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from examples.shop.backend.notices import REFUSING_DOMAIN
from examples.shop.backend.payments import DECLINED, LOSES_FIRST_ANSWER
from examples.shop.backend.shipping import SERVED
from examples.shop.orders import Order, read_catalogue, read_orders

pytestmark = pytest.mark.unit

HEADER = "order_id,name,email,street,postcode,city,country,card,items,cents,review\n"
LINE = "SO-1,A B,a@post.example,Weg 1,1,Ort,DE,tok_x,2 x MUG; 1 x PAN,300,\n"


def test_a_line_is_read_into_an_order(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(HEADER + LINE, encoding="utf-8")

    assert read_orders(file) == [
        Order(
            order_id="SO-1",
            cents=300,
            card="tok_x",
            items={"MUG": 2, "PAN": 1},
            address={
                "name": "A B",
                "email": "a@post.example",
                "street": "Weg 1",
                "postcode": "1",
                "city": "Ort",
                "country": "DE",
            },
            accepted=True,
        )
    ]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (LINE + LINE, "line 3: SO-1 comes twice"),
        (LINE.replace("2 x MUG", "MUG"), "line 2: .*'MUG' is not like"),
        (LINE.replace("300", "3.00"), "line 2: "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, lines: str, complaint: str) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(HEADER + lines, encoding="utf-8")

    with pytest.raises(ValueError, match=complaint):
        read_orders(file)


def test_every_amount_is_the_sum_of_the_catalogue_prices() -> None:
    price = {article.sku: article.cents for article in read_catalogue()}

    for order in read_orders():
        total = sum(price[sku] * pieces for sku, pieces in order.items.items())
        assert order.cents == total, order.order_id


def test_only_articles_meant_to_run_out_do() -> None:
    wanted: Counter[str] = Counter()
    for order in read_orders():
        wanted.update(order.items)

    short = {a.sku for a in read_catalogue() if wanted[a.sku] > a.pieces}
    assert short == {"PRINT-NUMBERED", "VASE-RETIRED"}


def test_every_way_an_order_can_go_is_in_the_file() -> None:
    orders = read_orders()

    assert len(orders) == 300
    assert {order.card for order in orders} >= {*DECLINED, LOSES_FIRST_ANSWER}
    assert any(order.address["country"] not in SERVED for order in orders)
    assert any(order.address["street"].startswith("PO Box") for order in orders)
    assert any(order.address["email"].endswith(REFUSING_DOMAIN) for order in orders)
    assert {order.accepted for order in orders if order.cents > 50_000} == {True, False}

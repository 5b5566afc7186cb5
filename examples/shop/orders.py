"""The orders file and the catalogue, read into records."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ORDERS_FILE = Path(__file__).with_name("orders.csv")
CATALOGUE_FILE = Path(__file__).with_name("catalogue.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article of the catalogue: its price in cents and the pieces in stock."""

    sku: str
    name: str
    cents: int
    pieces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    One line of the orders file.

    *items* is pieces by article; *accepted* is what a person decides if asked.
    """

    order_id: str
    cents: int
    card: str
    items: dict[str, int]
    address: dict[str, str]
    accepted: bool


def read_orders(path: Path = ORDERS_FILE) -> list[Order]:
    """
    Return the file's orders, in its order.

    Raises ValueError naming the line for one that can't be read or comes twice.
    """
    orders: dict[str, Order] = {}
    for line, row in _rows(path):
        try:
            order = _order(row)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path.name}, line {line}: {error}") from error
        if order.order_id in orders:
            raise ValueError(f"{path.name}, line {line}: {order.order_id} comes twice")
        orders[order.order_id] = order
    return list(orders.values())


def read_catalogue(path: Path = CATALOGUE_FILE) -> list[Article]:
    """Return the articles that the warehouse starts with."""
    return [
        Article(
            sku=row["sku"],
            name=row["name"],
            cents=int(row["cents"]),
            pieces=int(row["pieces"]),
        )
        for _, row in _rows(path)
    ]


def _rows(path: Path) -> Iterable[tuple[int, dict[str, str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from enumerate(csv.DictReader(file), start=2)


def _order(row: dict[str, str]) -> Order:
    address = ("name", "email", "street", "postcode", "city", "country")
    return Order(
        order_id=row["order_id"],
        cents=int(row["cents"]),
        card=row["card"],
        items=_items(row["items"]),
        address={field: row[field] for field in address},
        accepted=row["review"] != "reject",
    )


def _items(text: str) -> dict[str, int]:
    items = {}
    for part in text.split("; "):
        quantity, _, sku = part.partition(" x ")
        if not sku:
            raise ValueError(f"items {text!r}: {part!r} is not like '2 x MUG-STONE'")
        items[sku] = int(quantity)
    return items

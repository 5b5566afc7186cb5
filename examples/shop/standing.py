"""How an order's run stands, as the demo reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from examples.shop.ledger import Ending
from saga_flow.states import FlowStatus

REASONS: Mapping[str, str] = {
    "CardDeclined": "card declined",
    "OutOfStock": "out of stock",
    "AddressUndeliverable": "address undeliverable",
    "OrderRejected": "rejected by a person",
}
"""Why an order may be rolled back: the exception, and what a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRun:
    """How far an order's run has come."""

    order_id: str
    status: str
    reason: str | None
    """Why it was rolled back, or what an open one waits for."""

    awaits_approval: bool
    rollback_failed: bool

    @property
    def ending(self) -> Ending | None:
        """Where it has come to rest; None while it is still moving."""
        if self.status == FlowStatus.COMPLETED:
            return Ending.COMPLETED
        if FlowStatus(self.status) in FlowStatus.terminal():
            return Ending.ROLLED_BACK
        return Ending.AWAITING_APPROVAL if self.awaits_approval else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A step of an order's run: its action's name, its status, its last attempt."""

    name: str
    status: str
    attempt: int


def reason_of(error: Mapping[str, Any] | None) -> str | None:
    """Return why an order was rolled back, in a person's words; None if unknown."""
    for name in _types(error):
        if name in REASONS:
            return REASONS[name]
    return None


def _types(value: object) -> Iterator[str]:
    """Yield the class names in an error and its causes, without their modules."""
    if isinstance(value, Mapping):
        if isinstance(value.get("type"), str):
            yield value["type"].rpartition(".")[2]
        for inner in value.values():
            yield from _types(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _types(inner)

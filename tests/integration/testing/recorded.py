"""
The workflow whose histories lie in ``histories/``, exported by an earlier build.

Every build replays them as they are. They are never written anew: a history that a
build can't replay is a run of somebody's that it would break.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from saga_flow import QUEUE, RESULT, ActionFailed, Workflow, action

PREFIX = "recorded"


@dataclass(frozen=True)
class Receipt:
    """What a step returns."""

    cents: int
    rate: Decimal
    at: datetime


@action(name=f"{PREFIX}.pay")
def pay(cents: int, at: datetime) -> Receipt:
    """Succeed."""
    return Receipt(cents=cents, rate=Decimal("1.10"), at=at)


@action(name=f"{PREFIX}.pay_back")
def pay_back(receipt: Receipt) -> None:
    """Undo."""


@action(name=f"{PREFIX}.fail")
def fail(what: str) -> str:
    """Fail."""
    raise ValueError(what)


class Everything(Workflow):
    """One of each that a run can record."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.everything"

    def handle(self, cents: int, *, ends_well: bool) -> str:
        """Go through all of it."""
        now = self.now()
        paid = self.action(pay, cents, now).compensate_with(pay_back, RESULT).run()
        assert paid.at == now
        extra = self.action(fail, "extra").optional("none").run()
        try:
            self.action(fail, "first way").run()
        except ActionFailed as error:
            self.tag("went", error.type)
        self.sleep(timedelta(hours=1))
        number = self.side_effect("number", lambda: 42)
        key, chance = self.uuid4(), self.random()
        again = self.action(pay.using(dispatch=QUEUE), number, now).run()
        word = self.signal("word", str).wait(timeout=timedelta(days=1))
        answer = self.interrupt("look at it", str)
        self.memo(key=str(key), chance=chance)
        if not ends_well:
            raise ValueError(answer)
        return f"{extra} {paid.rate + again.rate} {word} {answer}"

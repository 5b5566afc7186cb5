"""
Workflows about parcels, whose bodies a test can enter.

Each body notes that it ran, then does what the test has put up for it, once. A body
runs outside any transaction, so what a test does there is what another worker, or a
person, might do at that very moment; no thread is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from saga_flow import RESULT, Retry, Workflow, action

ran: Final[list[str]] = []
"""The bodies that were entered, in order; undos as ``undo:name``."""

handled: Final[list[str]] = []
"""The parcels whose ``handle()`` was entered, once for each pass."""

_meanwhile: Final[dict[str, list[Callable[[], object]]]] = defaultdict(list)


class Declined(Exception):
    """What a declining body raises."""


def forget() -> None:
    """Begin a test with nothing noted and nothing put up."""
    ran.clear()
    handled.clear()
    _meanwhile.clear()


def during(body: str, do: Callable[[], object]) -> None:
    """Have *do* called the next time that *body* runs."""
    _meanwhile[body].append(do)


def _enter(body: str) -> None:
    ran.append(body)
    if _meanwhile[body]:
        _meanwhile[body].pop(0)()


@action(name="parcel.reserve")
def reserve(parcel: str) -> str:
    """A step with an undo."""
    _enter("reserve")
    return f"shelf-{parcel}"


@action(name="parcel.unreserve")
def unreserve(parcel: str) -> None:
    """The undo of reserve."""
    _enter("undo:reserve")


@action(name="parcel.charge")
def charge(parcel: str) -> str:
    """A step whose undo takes its result."""
    _enter("charge")
    return f"charge-{parcel}"


@action(name="parcel.refund")
def refund(charge: str) -> None:
    """The undo of charge."""
    _enter("undo:charge")


@action(name="parcel.ship")
def ship(parcel: str) -> str:
    """A step without an undo."""
    _enter("ship")
    return f"track-{parcel}"


@action(name="parcel.decline")
def decline(parcel: str) -> None:
    """A step that fails."""
    _enter("decline")
    raise Declined(f"nobody takes {parcel}")


@action(name="parcel.stubborn", retry=Retry(attempts=1))
def stubborn(parcel: str) -> None:
    """An undo that fails."""
    _enter("undo:stubborn")
    raise Declined(f"{parcel} can't be taken back")


class Delivery(Workflow):
    """reserve, charge, a wait for ``go``, ship; or a failure in place of the end."""

    class Meta:
        name = "parcel.delivery"

    def handle(self, parcel: str, *, wait: bool = True, fail: bool = False) -> str:
        handled.append(parcel)
        self.action(reserve, parcel).compensate_with(unreserve, parcel).run()
        paid = self.action(charge, parcel).compensate_with(refund, RESULT).run()
        if wait:
            self.signal("go", str).wait()
        if fail:
            self.action(decline, parcel).run()
        self.action(ship, parcel).run()
        return paid


class Bundle(Workflow):
    """reserve, then charge twice in a group that is undone as one level; a wait."""

    class Meta:
        name = "parcel.bundle"

    def handle(self, parcel: str) -> None:
        handled.append(parcel)
        self.action(reserve, parcel).compensate_with(unreserve, parcel).run()
        one = self.action(charge, parcel).compensate_with(refund, RESULT)
        self.saga(one, one, compensate_in_parallel=True).run()
        self.signal("go", str).wait()


class Labelled(Workflow):
    """A step, then a recorded value, then another step."""

    class Meta:
        name = "parcel.labelled"

    def handle(self, parcel: str) -> str:
        handled.append(parcel)
        self.action(reserve, parcel).compensate_with(unreserve, parcel).run()
        label = self.side_effect("label", _label)
        self.action(ship, parcel).run()
        return label


def _label() -> str:
    _enter("label")
    return "fragile"


class Stuck(Workflow):
    """A step whose undo fails, above one whose undo would not; then a failure."""

    class Meta:
        name = "parcel.stuck"

    def handle(self, parcel: str) -> None:
        handled.append(parcel)
        self.action(reserve, parcel).compensate_with(unreserve, parcel).run()
        self.action(charge, parcel).compensate_with(stubborn, parcel).run()
        self.action(decline, parcel).run()

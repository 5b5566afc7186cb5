"""Atomic steps of each kind, whose effects are rows, and what their bodies do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saga_flow import QUEUE, RESULT, Retry, Workflow, action
from tests.zoo.actions import took_place
from tests.zoo.models import Effect

PREFIX = "atomic"

ran: list[str] = []
"""The bodies that were entered, in order."""

during: dict[str, Callable[[], object]] = {}
"""What happens in the body of this name, once its effect is written."""


class Declined(Exception):
    """What a step that is meant to fail raises."""


def _take_place(what: str) -> Any:
    ran.append(what)
    took_place(what)
    return during.get(what, lambda: what)()


@action(name=f"{PREFIX}.book", atomic=True)
def book(what: str) -> Any:
    """Write a row; the test says what is returned."""
    return _take_place(what)


@action(name=f"{PREFIX}.unbook", atomic=True)
def unbook(what: str, result: Any = None) -> Any:
    """Undo it, by a row of its own."""
    return _take_place(f"undo {what}")


@action(name=f"{PREFIX}.plain")
def plain(what: str) -> str:
    """A step like any other."""
    _take_place(what)
    return what


@action(name=f"{PREFIX}.decline")
def decline() -> None:
    """Fail."""
    raise Declined("declined, as asked")


class Inline(Workflow):
    """An atomic step between two plain ones."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.inline"

    def handle(self, attempts: int = 1) -> Any:
        """Plain, atomic, plain."""
        self.action(plain, "before").run()
        retry = Retry(attempts=attempts)
        booked = self.action(book.using(retry=retry), "book")
        got = booked.compensate_with(unbook, "book", RESULT).run()
        self.action(plain, "after").run()
        return got


class Queued(Workflow):
    """An atomic step with a job of its own between two plain ones."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.queued"

    def handle(self, attempts: int = 1) -> Any:
        """Plain, atomic elsewhere, plain."""
        self.action(plain, "before").run()
        retry = Retry(attempts=attempts)
        booked = self.action(book.using(dispatch=QUEUE, retry=retry), "book")
        got = booked.compensate_with(unbook, "book", RESULT).run()
        self.action(plain, "after").run()
        return got


class Optional(Workflow):
    """An atomic step that may fail."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.optional"

    def handle(self) -> Any:
        """Go on with the fallback."""
        return self.action(book, "book").optional("nothing").run()


class TakenBack(Workflow):
    """An atomic step with an atomic undo, then a failure."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.taken_back"

    def handle(self) -> None:
        """Book and fail."""
        self.action(book, "book").compensate_with(unbook, "book", RESULT).run()
        self.action(decline).run()


def effects() -> list[str]:
    """What stands, in order."""
    return list(Effect.objects.order_by("pk").values_list("name", flat=True))

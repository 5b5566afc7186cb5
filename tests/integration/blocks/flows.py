"""Workflows with blocks, and what a test lets happen in their bodies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from saga_flow import (
    FAIL_FAST,
    RESULT,
    ActionFailed,
    Join,
    Retry,
    Signal,
    Workflow,
    action,
)

PREFIX = "blocks"
LONG = timedelta(hours=1)

ran: list[str] = []
"""What took place, in order."""

during: dict[str, Callable[[], object]] = {}
"""What happens in the body of this name."""


class Declined(Exception):
    """What a member that is meant to fail raises."""


@action(name=f"{PREFIX}.book")
def book(what: str) -> str:
    """Book *what*; names that begin with ``no`` are refused."""
    ran.append(what)
    during.get(what, lambda: None)()
    if what.startswith("no"):
        raise Declined(what)
    return f"{what}!"


@action(name=f"{PREFIX}.cancel")
def cancel(what: str, booking: str | None) -> None:
    """Take *what* back."""
    ran.append(f"undo {what} {booking}")


class Trip(Workflow):
    """Everything at once, each with its undo."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.trip"

    def handle(self, parts: list[str], policy: Join = FAIL_FAST) -> list[str]:
        """Book all parts, then the last one."""
        steps = [
            self.action(book, part).compensate_with(cancel, part, RESULT)
            for part in parts
        ]
        found = self.parallel(*steps, policy=policy).run()
        self.action(book, "seal").run()
        return found


class Limited(Workflow):
    """So many at a time."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.limited"

    def handle(self, parts: list[str], limit: int) -> list[str]:
        """Book all parts."""
        return self.map(book, parts, limit=limit)


class Race(Workflow):
    """The first of several wins, and the way it went is kept."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.race"

    def handle(self, parts: list[str]) -> list[Any]:
        """Book whatever comes first, then go on."""
        steps = [
            self.action(book, part).compensate_with(cancel, part, RESULT)
            for part in parts
        ]
        index, value = self.first(*steps).run()
        self.signal("go").wait()
        self.action(book, f"after {index}").run()
        return [index, value]


class Survivor(Workflow):
    """A block that fails, and a workflow that goes on."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.survivor"

    def handle(self, parts: list[str]) -> str:
        """Say what failed, and say it again after a wait."""
        try:
            self.parallel(*[self.action(book, part) for part in parts]).run()
        except ActionFailed as error:
            said = f"{error.sequence} {error.message}"
        else:
            said = "nothing"
        self.signal("go").wait()
        return said


class Mixed(Workflow):
    """A step, a signal, a timer and a block side by side."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.mixed"

    approval = Signal(str)

    def handle(self) -> list[Any]:
        """Wait for all of them."""
        inner = self.first(self.action(book, "a"), self.action(book, "b"))
        return list(
            self.parallel(
                self.action(book, "step"), self.approval, self.timer(LONG), inner
            ).run()
        )


class Patience(Workflow):
    """An approval, or the time is up."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.patience"

    approval = Signal(str)

    def handle(self) -> list[Any]:
        """Wait for either."""
        index, value = self.first(self.approval, self.timer(LONG)).run()
        return [index, value]


class Faltering(Workflow):
    """A member that needs a second try, and one that may fail."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.faltering"

    def handle(self) -> list[Any]:
        """Book both."""
        patient = book.using(retry=Retry(attempts=2, delay=LONG))
        return list(
            self.parallel(
                self.action(patient, "nearly"),
                self.action(book, "no luxury").optional("none"),
            ).run()
        )


class Changed(Workflow):
    """A block whose size a deploy changes."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.changed"

    size = 2

    def handle(self) -> None:
        """Book as many as this build says, then wait."""
        self.parallel(*[self.action(book, str(n)) for n in range(self.size)]).run()
        self.signal("go").wait()

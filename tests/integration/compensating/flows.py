"""Workflows that undo everything in their middle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from saga_flow import RESULT, CompensationFailed, Retry, Workflow, action

PREFIX = "compensating"
LONG = timedelta(hours=1)

ran: list[str] = []
"""What took place, in order."""

during: dict[str, Callable[[], object]] = {}
"""What happens in the body of this name."""


def _took_place(what: str) -> None:
    ran.append(what)
    during.get(what, lambda: None)()


@action(name=f"{PREFIX}.do")
def do(what: str) -> str:
    """Do it."""
    _took_place(what)
    return f"{what}!"


@action(name=f"{PREFIX}.undo", retry=Retry(attempts=2, delay=LONG))
def undo(what: str) -> None:
    """Take it back."""
    _took_place(f"undo {what}")


class Regret(Workflow):
    """Two steps, everything undone, one more step, and a wait."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.regret"

    def handle(self) -> str:
        """Undo in the middle."""
        self.action(do, "a").compensate_with(undo, RESULT).run()
        self.action(do, "b").compensate_with(undo, RESULT).run()
        try:
            self.compensate()
        except CompensationFailed as error:
            return f"left {error.left}"
        self.action(do, "c").compensate_with(undo, RESULT).run()
        self.signal("go").wait()
        return "gone on"


class Nothing(Workflow):
    """Nothing to undo."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.nothing"

    def handle(self) -> str:
        """Undo nothing, twice."""
        self.compensate()
        self.compensate()
        return self.action(do, "a").run()


class Raced(Workflow):
    """The loser of a race, which completes after everything was undone."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.raced"

    def handle(self) -> Any:
        """Race, undo, and wait."""
        left = self.action(do, "left").compensate_with(undo, "left")
        right = self.action(do, "right").compensate_with(undo, "right")
        self.first(left, right).run()
        self.compensate()
        self.signal("go").wait()


class Changed(Workflow):
    """A compensation that a deploy takes out."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.changed"

    undoes = True

    def handle(self) -> None:
        """Undo, if this build does."""
        self.action(do, "a").compensate_with(undo, RESULT).run()
        if self.undoes:
            self.compensate()
        self.signal("go").wait()

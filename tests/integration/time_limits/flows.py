"""Workflows whose steps may take so long and no longer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from saga_flow import QUEUE, RESULT, Retry, Workflow, action, current_step

PREFIX = "time_limits"
SOON = timedelta(milliseconds=100)
LONG = timedelta(seconds=90)

ran: list[tuple[str, int]] = []
"""What took place, with its attempt."""

during: dict[str, Callable[[], Any]] = {}
"""What happens in the body of this name."""


def _took_place(what: str) -> Any:
    ran.append((what, current_step().attempt))
    return during.get(what, lambda: None)()


@action(name=f"{PREFIX}.hasty", timeout=SOON, retry=Retry(attempts=2))
def hasty() -> Any:
    """Have little time, twice."""
    return _took_place("hasty")


@action(name=f"{PREFIX}.patient", timeout=LONG, retry=Retry(attempts=2))
def patient() -> Any:
    """Have much time, twice."""
    return _took_place("patient")


@action(name=f"{PREFIX}.talkative", heartbeat_timeout=LONG, retry=Retry(attempts=2))
def talkative() -> Any:
    """Have to speak up now and then."""
    return _took_place("talkative")


@action(name=f"{PREFIX}.put_back", timeout=SOON, retry=Retry(attempts=2))
def put_back(what: str | None) -> None:
    """Undo, with little time."""
    _took_place(f"undo {what}")


@action(name=f"{PREFIX}.whole", atomic=True)
def whole() -> Any:
    """Be all or nothing."""
    return _took_place("whole")


class Hasty(Workflow):
    """One step with little time."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.hasty_flow"

    def handle(self) -> Any:
        """Hurry."""
        return self.action(hasty).run()


class Patient(Workflow):
    """A step with much time, inline or in a job of its own."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.patient_flow"

    def handle(self, queued: bool) -> Any:  # noqa: FBT001
        """Take time."""
        made = patient.using(dispatch=QUEUE) if queued else patient
        return self.action(made).compensate_with(put_back, RESULT).run()


class Talkative(Workflow):
    """A step that has to give signs of life."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.talkative_flow"

    def handle(self) -> Any:
        """Talk."""
        return self.action(talkative).run()


class Whole(Workflow):
    """An atomic step."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.whole_flow"

    def handle(self) -> Any:
        """Do it."""
        return self.action(whole).run()

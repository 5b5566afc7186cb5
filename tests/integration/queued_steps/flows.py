"""A workflow with a queued step, and what a test lets happen in its bodies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from saga_flow import FAIL, QUEUE, RESULT, Retry, Workflow, action, current_step

PREFIX = "queued_steps"
LONG = timedelta(hours=1)

ran: list[tuple[str, int]] = []
"""What took place, with its attempt."""

during: dict[str, Callable[[], object]] = {}
"""What happens in the body of this name."""


class Declined(Exception):
    """What a step that is meant to fail raises."""


def _took_place(what: str) -> None:
    ran.append((what, current_step().attempt))
    during.get(what, lambda: None)()


@action(name=f"{PREFIX}.pick")
def pick() -> str:
    """Take it from the shelf."""
    _took_place("pick")
    return "picked"


@action(name=f"{PREFIX}.put_back")
def put_back(what: str) -> None:
    """Undo."""
    _took_place(f"undo {what}")


@action(name=f"{PREFIX}.pack", dispatch=QUEUE)
def pack() -> str:
    """Wrap it up, elsewhere."""
    _took_place("pack")
    return "packed"


class Parcel(Workflow):
    """An inline step, a queued one, an inline one."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.parcel"

    def handle(self) -> str:
        """Pick, pack, pick."""
        self.action(pick).compensate_with(put_back, RESULT).run()
        packed = self.action(pack).compensate_with(put_back, RESULT).run()
        self.action(pick).run()
        return packed


class Elsewhere(Workflow):
    """A step whose job goes to a queue of its own."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.elsewhere"

    def handle(self) -> str:
        """Pack in the hall."""
        return self.action(pack.using(queue="hall")).run()


class Patient(Workflow):
    """A queued step with a delay between its tries."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.patient"

    def handle(self, delay: timedelta) -> str:
        """Pack, twice if need be."""
        retry = Retry(attempts=2, delay=delay)
        step = self.action(pack.using(retry=retry))
        return step.compensate_with(put_back, "parcel").run()


class Once(Workflow):
    """A queued step that is not tried again once its worker has died."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.once"

    def handle(self) -> str:
        """Pack at most once."""
        return self.action(pack.using(lost_worker=FAIL)).run()


def decline_once() -> None:
    """Fail the first attempt."""
    if current_step().attempt == 1:
        raise Declined("not now")

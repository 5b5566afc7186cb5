"""Actions that write what they did into a ledger."""

from __future__ import annotations

import os

from saga_flow import action, current_step
from tests.zoo import gate
from tests.zoo.models import Effect


class Declined(Exception):
    """What a step that is meant to fail raises."""


def took_place(name: str) -> None:
    """Write down that *name* happened in the current step's attempt."""
    step = current_step()
    Effect.objects.create(
        instance_id=step.instance_id,
        name=name,
        attempt=step.attempt,
        key=step.idempotency_key,
        pid=os.getpid(),
    )


@action(name="zoo.note")
def note(name: str) -> str:
    """Do something that is seen in the ledger."""
    took_place(name)
    return name


@action(name="zoo.hold")
def hold(name: str) -> str:
    """Come to the gate *name*, and do something once it is open."""
    gate.hold(name)
    took_place(name)
    return name


@action(name="zoo.hold_whole", atomic=True)
def hold_whole(name: str) -> str:
    """Do something that is there with its outcome, then come to the gate *name*."""
    took_place(name)
    gate.hold(name)
    return name


@action(name="zoo.take_back")
def take_back(name: str) -> None:
    """Undo *name*."""
    took_place(f"undo {name}")


@action(name="zoo.take_back_at_gate")
def take_back_at_gate(name: str) -> None:
    """Undo *name* once its gate is open."""
    gate.hold(f"undo-{name}")
    took_place(f"undo {name}")


@action(name="zoo.decline")
def decline() -> None:
    """Fail."""
    raise Declined("declined, as asked")

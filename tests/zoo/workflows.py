"""One workflow for each thing that can be interrupted."""

from __future__ import annotations

from datetime import timedelta

from saga_flow import QUEUE, Workflow
from tests.zoo.actions import (
    decline,
    hold,
    hold_whole,
    note,
    take_back,
    take_back_at_gate,
)


class Straight(Workflow):
    """Steps one after another."""

    class Meta:
        """Its name."""

        name = "zoo.straight"

    def handle(self, steps: int) -> int:
        """Note each step."""
        for number in range(steps):
            self.action(note, f"step {number}").run()
        return steps


class Gated(Workflow):
    """A step that a gate holds, between two that it does not."""

    class Meta:
        """Its name."""

        name = "zoo.gated"

    def handle(self, gate: str) -> str:
        """Note, stay at the gate, note."""
        self.action(note, "before").run()
        self.action(hold, gate).run()
        self.action(note, "after").run()
        return gate


class GatedWhole(Workflow):
    """An atomic step that a gate holds after its effect, between two plain ones."""

    class Meta:
        """Its name."""

        name = "zoo.gated_whole"

    def handle(self, gate: str) -> str:
        """Note, stay at the gate in a transaction, note."""
        self.action(note, "before").run()
        self.action(hold_whole, gate).run()
        self.action(note, "after").run()
        return gate


class GatedElsewhere(Workflow):
    """A step with a job of its own that a gate holds, between two without."""

    class Meta:
        """Its name."""

        name = "zoo.gated_elsewhere"

    def handle(self, gate: str) -> str:
        """Note, stay at the gate in another job, note."""
        self.action(note, "before").run()
        self.action(hold.using(dispatch=QUEUE), gate).run()
        self.action(note, "after").run()
        return gate


class RolledBack(Workflow):
    """Two steps, then a failure; the first undo waits at a gate."""

    class Meta:
        """Its name."""

        name = "zoo.rolled_back"

    def handle(self, gate: str) -> None:
        """Do two things and fail."""
        self.action(note, "one").compensate_with(take_back, "one").run()
        self.action(note, gate).compensate_with(take_back_at_gate, gate).run()
        self.action(decline).run()


class Napping(Workflow):
    """A durable sleep between two steps."""

    class Meta:
        """Its name."""

        name = "zoo.napping"

    def handle(self, seconds: float) -> None:
        """Note, sleep, note."""
        self.action(note, "before").run()
        self.sleep(timedelta(seconds=seconds))
        self.action(note, "after").run()


class Asking(Workflow):
    """Waits for a word from outside."""

    class Meta:
        """Its name."""

        name = "zoo.asking"

    def handle(self) -> str:
        """Wait for the answer and return it."""
        self.action(note, "asked").run()
        return self.signal("answer", str).wait()

"""The workflows that are measured; a cluster finds them here."""

from __future__ import annotations

import time
from typing import Final

from saga_flow import Workflow, action

WINDOW: Final = 100
"""How many steps are timed at each length of history."""

timings: dict[int, float] = {}
"""Seconds a step at each length of history, as :class:`Growing` last found them."""


@action(name="benchmarks.nothing")
def nothing() -> None:
    """Do nothing: what is left is what a step costs."""


class Steps(Workflow):
    """Steps, one after another."""

    class Meta:
        name = "benchmarks.steps"

    def handle(self, count: int) -> int:
        for _ in range(count):
            self.action(nothing).run()
        return count


class Growing(Workflow):
    """Steps up to the longest of *lengths*, timed for a while at each of them."""

    class Meta:
        name = "benchmarks.growing"

    def handle(self, lengths: list[int]) -> int:
        done = 0
        for length in lengths:
            while done < length:
                self.action(nothing).run()
                done += 1
            began = time.perf_counter()
            for _ in range(WINDOW):
                self.action(nothing).run()
            timings[length] = (time.perf_counter() - began) / WINDOW
            done += WINDOW
        return done


class Recalled(Workflow):
    """Steps, then signals without end: each one makes a pass replay all steps."""

    class Meta:
        name = "benchmarks.recalled"

    def handle(self, count: int) -> None:
        for _ in range(count):
            self.action(nothing).run()
        while True:
            self.signal("again").wait()

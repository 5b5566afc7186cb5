"""One line that says how far the orders are, re-drawn where that is possible."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from examples.shop.ledger import Ending
from examples.shop.standing import OrderRun

_PLAIN_EVERY_SECONDS = 3.0
_BAR_WIDTH = 20


class Progress:
    """Show lines on a terminal in place; elsewhere one every few seconds."""

    def __init__(
        self,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to *out*, standard output by default; *clock* counts seconds."""
        self._out = out or sys.stdout
        self._clock = clock
        self._in_place = self._out.isatty()
        self._began = clock()
        self._next_plain = self._began

    def show(self, text: str) -> None:
        """Show *text* with the seconds since the start."""
        now = self._clock()
        line = f"  {now - self._began:5.1f} s  {text}"
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            self._out.write(f"\r\033[K{line[:width]}")
        elif now >= self._next_plain:
            self._next_plain = now + _PLAIN_EVERY_SECONDS
            self._out.write(f"{line}\n")
        self._out.flush()

    def say(self, text: str) -> None:
        """Leave *text* on a line of its own; progress goes on below it."""
        if self._in_place:
            self._out.write("\r\033[K")
        seconds = self._clock() - self._began
        self._out.write(f"  {seconds:5.1f} s  {text}\n")
        self._out.flush()

    def end(self) -> None:
        """Take the re-drawn line away."""
        if self._in_place:
            self._out.write("\r\033[K")
            self._out.flush()


def bar(done: int, total: int) -> str:
    """Return a bar that is as full as *done* of *total*."""
    full = _BAR_WIDTH * done // total if total else 0
    return f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {done}/{total}"


def sentence(runs: Iterable[OrderRun], total: int) -> str:
    """Say how many of *total* orders have come to rest, and how."""
    endings = [run.ending for run in runs]
    counts = {
        "completed": endings.count(Ending.COMPLETED),
        "rolled back": endings.count(Ending.ROLLED_BACK),
        "waiting for approval": endings.count(Ending.AWAITING_APPROVAL),
        "under way": endings.count(None),
    }
    ended = counts["completed"] + counts["rolled back"]
    shown = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{bar(ended, total)}  {shown}"

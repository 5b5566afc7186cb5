"""The daemon thread in which a heart ticks."""

from __future__ import annotations

import logging
import threading
from typing import Final

from saga_flow.pulse.heart import TICK, Heart
from saga_flow.store import dialect

logger = logging.getLogger(__name__)

JOIN: Final = 5.0
"""Seconds that the end of a process waits for the last tick."""


class PulseThread:
    """
    Ticks *heart* once a second, on a connection of its own, until stopped.

    The first tick comes after *delay* seconds: a worker that has just registered
    needs no sign of life before.
    """

    def __init__(self, heart: Heart, delay: float = 0.0) -> None:
        self._heart = heart
        self._delay = delay
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="saga-flow-pulse", daemon=True
        )

    def start(self) -> None:
        """Begin; the first tick registers the worker."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it, for a moment at most."""
        self._stop.set()
        self._thread.join(JOIN)

    def _run(self) -> None:
        if self._stop.wait(self._delay):
            return
        try:
            while True:
                self._tick()
                if self._stop.wait(TICK):
                    return
        finally:
            dialect.connection().close()

    def _tick(self) -> None:
        try:
            dialect.connection().close_if_unusable_or_obsolete()
            self._heart.tick()
        # A pulse that dies of one bad second would have its worker declared lost.
        except Exception:
            logger.exception("A tick of the pulse failed; the next is in a second")
            dialect.connection().close()

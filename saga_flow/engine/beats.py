"""
What ``current_step().heartbeat()`` does: a write now, or one soon.

A body may beat in a tight loop. At most one write a second is made, or one in each
third of the time that the body may be silent; what is said between two of them is
written at the end of that interval, by a thread if the body does not come back.
"""

from __future__ import annotations

import logging
import os
import threading
from datetime import timedelta
from typing import Any, Final

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow import clock
from saga_flow.exceptions import NotInStep
from saga_flow.serialization import codec
from saga_flow.store import beats, dialect
from saga_flow.store.transaction import in_test_case

logger = logging.getLogger("saga_flow.engine")

LONGEST_INTERVAL: Final = timedelta(seconds=1)
MAX_PROGRESS_BYTES: Final = 4096


def interval(silence: timedelta | None) -> timedelta:
    """How far apart the writes of a body are that may be silent for *silence*."""
    return LONGEST_INTERVAL if silence is None else min(LONGEST_INTERVAL, silence / 3)


class Heartbeat:
    """The signs of life of one attempt; one is made for each, most never beat."""

    def __init__(self, beating: beats.Beating) -> None:
        self._beating = beating
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._body = dialect.connection()
        self._mine: BaseDatabaseWrapper | None = None
        self._timer: threading.Timer | None = None
        self._next = float("-inf")
        self._owed = False
        self._progress: str | None = None
        self._written: str | None = None
        self._wanted = True
        self._over = False

    def __call__(self, progress: Any = None) -> bool:
        """Note a sign of life; whether the outcome is no longer wanted."""
        if os.getpid() != self._process:
            raise NotInStep(
                "heartbeat() was called in a process that the body forked. Only the "
                "process that performs the step can speak for it: pass the progress "
                "back to it and call heartbeat() there."
            )
        said = None if progress is None else _stored(progress)
        with self._lock:
            self._progress = said or self._progress
            self._owed = True
            self._write_or_wait()
            return not self._wanted

    def _write_or_wait(self) -> None:
        remaining = self._next - clock.monotonic()
        must_wait = beats.must_wait(self._body)
        if remaining <= 0 and not must_wait:
            self._write()
        elif self._timer is None and not in_test_case():
            # after a fork of the process this thread is gone, and so is the need
            self._timer = threading.Timer(
                max(remaining, 0.0) or self._seconds(), self._ring
            )
            self._timer.daemon = True
            self._timer.start()

    def _seconds(self) -> float:
        return interval(self._beating.silence).total_seconds()

    def _ring(self) -> None:
        with self._lock:
            self._timer = None
            if self._owed and not self._over:
                self._write_or_wait()

    def _write(self) -> None:
        """One write; what can't be written now stays owed, and the body goes on."""
        self._next = clock.monotonic() + self._seconds()
        changed = None if self._progress == self._written else self._progress
        written = False
        try:
            self._mine = self._mine or beats.connect(self._body)
            self._wanted = beats.beat(self._mine, self._beating, changed)
            written = True
        except DatabaseError:
            if in_test_case():
                raise
            logger.warning(
                "run=%s step=%s: a heartbeat could not be written",
                self._beating.run,
                self._beating.sequence,
                exc_info=True,
            )
        finally:
            if written:
                self._owed, self._written = False, self._progress
            else:
                self._disconnect()

    def _disconnect(self) -> None:
        mine, self._mine = self._mine, None
        if mine is not None and mine is not self._body:
            mine.close()

    def close(self) -> None:
        """The body has ended: what it said last is written, and nothing after it."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._owed and self._progress != self._written:
                self._write()
            self._disconnect()


def _stored(progress: object) -> str:
    return codec.encode(
        progress, what="progress of a heartbeat", limit=MAX_PROGRESS_BYTES
    )

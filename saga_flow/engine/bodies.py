"""
Calls a body: in this process alone, and for no longer than its limit.

The limit is a timer of the process (SIGALRM), which only a main thread can have. It
raises ActionTimedOut in the body, never in the engine: whether the body is on the
stack is read off the stack itself. django-q2 limits its jobs by the same timer, so
whoever has it already gets it back, less the time that has passed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import FrameType, TracebackType
from typing import Any, Final

from saga_flow.exceptions import ActionTimedOut

_AT_ONCE: Final = 1e-6
_NOT_YET: Final = 0.001
"""Seconds until the timer looks again, when it rang before the body had begun."""


class Alarm:
    """The limit of one attempt, in force inside the ``with`` block."""

    def __init__(self, limit: timedelta | None, message: str) -> None:
        self.fired = False
        """Whether it has rung: what the body was in the middle of is unknown."""

        self._limit, self._message = limit, message
        self._theirs: tuple[Any, float, float] | None = None
        self._began = 0.0

    def __enter__(self) -> Alarm:
        if self._limit is not None and _has_timer():
            self._arm(self._limit.total_seconds())
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._disarm()

    def _arm(self, seconds: float) -> None:
        remaining, interval = signal.getitimer(signal.ITIMER_REAL)
        handler = signal.getsignal(signal.SIGALRM)
        if 0 < remaining <= seconds or handler is None:
            return  # theirs rings sooner, or could not be given back
        self._theirs = (handler, remaining, interval)
        self._began = time.monotonic()
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _AT_ONCE))

    def _disarm(self) -> None:
        theirs, self._theirs = self._theirs, None
        if theirs is None:
            return
        handler, remaining, interval = theirs
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            left = remaining - (time.monotonic() - self._began)
            signal.setitimer(signal.ITIMER_REAL, max(left, _AT_ONCE), interval)

    def _ring(self, _signum: int, frame: FrameType | None) -> None:
        if self._theirs is None:
            return
        if not _is_in_body(frame):
            signal.setitimer(signal.ITIMER_REAL, _NOT_YET)
            return
        self.fired = True
        # at once: a body that swallows this one must still meet the job's own limit
        self._disarm()
        raise ActionTimedOut(self._message)


def _has_timer() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and hasattr(signal, "setitimer")


def _is_in_body(frame: FrameType | None) -> bool:
    """Whether *frame* is of the body, or of something that the body called."""
    while frame is not None:
        below = frame.f_back
        if below is not None and below.f_code is _body.__code__:
            return True
        frame = below
    return False


def call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    is_async: bool,
) -> Any:
    """
    The body's value. A process that the body forked never comes back from here.

    It would go on as a second engine under this one's claims and connections.
    """
    parent = os.getpid()
    try:
        value = _body(function, args, kwargs, is_async=is_async)
    except BaseException as error:
        _end_if_child(parent, error)
        raise
    _end_if_child(parent, None)
    return value


def _body(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    is_async: bool,
) -> Any:
    value = function(*args, **kwargs)
    return asyncio.run(value) if is_async else value


def _end_if_child(parent: int, error: BaseException | None) -> None:
    if os.getpid() == parent:
        return
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(bool(error.code))
    elif error is not None:
        traceback.print_exception(error)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)

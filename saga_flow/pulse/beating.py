"""A pulse for the length of a block: while ``run_sync`` drives in any process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from saga_flow.pulse.heart import BEAT, Heart
from saga_flow.pulse.thread import PulseThread
from saga_flow.store import transaction

_lock = threading.Lock()
_users = 0
_beating: tuple[PulseThread, Heart] | None = None
_permanent = False


@contextmanager
def beating() -> Iterator[None]:
    """
    Beat while the block runs, and leave after it; several threads share one pulse.

    Nothing in a worker of a cluster, which beats anyway, nor in a test case of
    Django's, whose open transaction a second connection could not see into.
    """
    if _permanent or transaction.in_test_case():
        yield
        return
    _enter()
    try:
        yield
    finally:
        _exit()


def note_permanent() -> None:
    """This process has a pulse of its own, for good."""
    global _permanent  # noqa: PLW0603 - one process, one pulse
    _permanent = True


def _enter() -> None:
    global _users, _beating  # noqa: PLW0603 - one process, one pulse
    with _lock:
        _users += 1
        if _users == 1:
            heart = Heart(leads=False)
            thread = PulseThread(heart, delay=BEAT)
            thread.start()
            _beating = (thread, heart)


def _exit() -> None:
    global _users, _beating  # noqa: PLW0603 - one process, one pulse
    with _lock:
        _users -= 1
        if _users == 0 and _beating is not None:
            thread, heart = _beating
            _beating = None
            thread.stop()
            heart.stop()


def _begin_anew() -> None:
    # The child of a fork has none of its parent's threads.
    global _lock, _users, _beating, _permanent
    _lock, _users, _beating, _permanent = threading.Lock(), 0, None, False


os.register_at_fork(after_in_child=_begin_anew)

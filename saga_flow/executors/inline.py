"""
This process does the work itself, when it is told to: for tests and single scripts.

Wakes are collected as they come, whatever becomes of the transaction around them: a
hint about a row that was rolled back finds nothing to do. In Django's ``TestCase`` a
wake is also left with ``on_commit``, so that ``captureOnCommitCallbacks(execute=True)``
does the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import transaction
from django.utils.module_loading import import_string

from saga_flow import clock
from saga_flow.records import Wake
from saga_flow.store import dialect
from saga_flow.store.transaction import in_test_case

_lock = threading.Lock()
_waiting: dict[Wake, None] = {}


def wake(wake: Wake) -> None:
    """Remember *wake* until somebody drains; one that waits already counts once."""
    with _lock:
        _waiting[wake] = None
    if in_test_case():
        transaction.on_commit(_after_commit, using=dialect.alias())


def _after_commit() -> None:
    drain(import_string("saga_flow.jobs.execute"))


def take() -> Wake | None:
    """Hand out the oldest wake that may be acted on by now, or None."""
    now = clock.now()
    with _lock:
        for each in _waiting:
            if each.not_before is None or each.not_before <= now:
                del _waiting[each]
                return each
    return None


def drain(execute: Callable[[Wake], None]) -> int:
    """
    Give each wake to *execute*, also those that it causes; return how many.

    Wakes that may not be acted on yet stay where they are.
    """
    count = 0
    while (each := take()) is not None:
        execute(each)
        count += 1
    return count


def clear() -> None:
    """Forget every wake, as between two tests."""
    with _lock:
        _waiting.clear()

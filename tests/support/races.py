"""Threads that begin at one moment, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db import connection, connections

DEADLINE: Final = 60.0
"""Seconds after which a race counts as stuck."""

ROUNDS: Final = {"sqlite": 3, "postgresql": 4, "mysql": 5}
"""How often a race is run: SQLite has one writer anyway."""


def rounds() -> range:
    """As many rounds as this database is worth."""
    return range(ROUNDS[connection.vendor])


def together(*acts: Callable[[], Any]) -> list[Any]:
    """
    Run *acts* at the same time; return what each returned, or what it raised.

    Raises AssertionError when one of them does not end.
    """
    start = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(number: int, act: Callable[[], Any]) -> None:
        try:
            # the connection is made before the start, so that all begin alike
            connection.ensure_connection()
            start.wait(DEADLINE)
            results[number] = act()
        except BaseException as error:  # noqa: BLE001 - the test judges it
            results[number] = error
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=run, args=(number, act), daemon=True)
        for number, act in enumerate(acts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    stuck = [number for number, thread in enumerate(threads) if thread.is_alive()]
    assert not stuck, f"acts {stuck} did not end within {DEADLINE} s"
    return results


def none_raised(results: Sequence[Any]) -> None:
    """Raise the first error of a race in which none is expected."""
    for result in results:
        if isinstance(result, BaseException):
            raise result

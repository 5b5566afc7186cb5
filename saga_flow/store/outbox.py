"""
The port by which the store hands due work to whatever executes it.

A wake is handed over inside the store's transaction: an executor whose queue is in
the same database writes its job there and then, any other waits for the commit.
Lost or doubled wakes change nothing; the rows are the truth.
"""

from __future__ import annotations

from collections.abc import Callable

from saga_flow.records import Wake

Send = Callable[[Wake], None]


def _nowhere(wake: Wake) -> None:
    """Until an executor is bound, only the sweeps find due work."""


_send: Send = _nowhere


def bind(send: Send) -> None:
    """Let *send* deliver every wake from now on."""
    global _send  # noqa: PLW0603 - one process, one executor; that is the port
    _send = send


def send(wake: Wake) -> None:
    """Hand *wake* to the bound executor."""
    _send(wake)

"""What a test may leave behind in its process."""

from __future__ import annotations

from saga_flow import holdings
from saga_flow.executors import inline
from saga_flow.sweeps import liveness


def reset() -> None:
    """
    Forget what the engine has in this process's memory: claims, hints, watches.

    For the end of a test; the rows are the test case's to take back. With pytest it
    is called after each test. A clock and a registry that a test has bound go with
    their ``with`` block.
    """
    holdings.clear()
    inline.clear()
    liveness.note(None)

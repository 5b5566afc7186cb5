"""
What this process is executing right now.

The engine notes here each run, step and undo that it has claimed and is still busy
with. What the database says this process owns, and this list does not know, nobody
is working on: two beats later the pulse gives it back (docs/writes.md, row 23).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

Kind = Literal["run", "step", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One claim: of a run, by its lease epoch, or of a step or undo, by its token."""

    kind: Kind
    id: str
    token: int

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


_lock = threading.Lock()
_held: dict[Holding, int] = {}
"""By each claim the thread that executes it."""


def hold(kind: Kind, id: str, token: int) -> None:
    """Note that this process executes what it has claimed under *token*."""
    with _lock:
        _held[Holding(kind=kind, id=id, token=token)] = threading.get_ident()


def drop(kind: Kind, id: str, token: int) -> None:
    """Note that it does no longer. Dropping twice is harmless."""
    with _lock:
        _held.pop(Holding(kind=kind, id=id, token=token), None)


def holds(kind: Kind, id: str, token: int) -> bool:
    """Whether the claim still stands here; False once this worker was found lost."""
    with _lock:
        return Holding(kind=kind, id=id, token=token) in _held


def current() -> frozenset[Holding]:
    """All that this process executes at this moment."""
    with _lock:
        return frozenset(_held)


def of_this_thread() -> frozenset[Holding]:
    """What the calling thread executes at this moment."""
    me = threading.get_ident()
    with _lock:
        return frozenset(claim for claim, thread in _held.items() if thread == me)


def clear() -> None:
    """Drop everything: this worker was declared lost, and its claims are others'."""
    with _lock:
        _held.clear()


@contextmanager
def holding(kind: Kind, id: str, token: int) -> Iterator[None]:
    """Hold the claim for the length of the block."""
    hold(kind, id, token)
    try:
        yield
    finally:
        drop(kind, id, token)


def _begin_anew() -> None:
    # A child of fork() executes nothing of what its parent does, and inherits the
    # lock in whatever state another thread had it.
    global _lock  # noqa: PLW0603 - one process, one list
    _lock = threading.Lock()
    _held.clear()


os.register_at_fork(after_in_child=_begin_anew)

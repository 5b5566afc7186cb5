"""Asynchronous twins: the same call, awaited, its work done where Django wants it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

P = ParamSpec("P")
R = TypeVar("R")


def twin(call: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """
    Return the asynchronous twin of a blocking *call*, of the same signature.

    The work is done in the thread that Django keeps for its connections, so that
    calls of one task see each other's transactions.
    """

    async def awaited(*args: P.args, **kwargs: P.kwargs) -> R:
        return await sync_to_async(call, thread_sensitive=True)(*args, **kwargs)

    update_wrapper(awaited, call)
    awaited.__name__ = f"a{call.__name__}"
    path, dot, name = call.__qualname__.rpartition(".")
    awaited.__qualname__ = f"{path}{dot}a{name}"
    return awaited

"""Asynchronous twins: the same call, awaited, its work done where Django wants it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


async def one_by_one(found: Iterator[T], at_once: int) -> AsyncIterator[T]:
    """Yield what a blocking iterator gives; *at_once* of it are awaited together."""
    while part := await twin(list)(islice(found, at_once)):
        for each in part:
            yield each


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

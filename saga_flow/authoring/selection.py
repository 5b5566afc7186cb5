"""Runs that a filter describes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.core.exceptions import MultipleObjectsReturned

from saga_flow.authoring import ports
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.start import definition_of, subject_key
from saga_flow.authoring.twins import one_by_one, twin
from saga_flow.exceptions import InvalidFilter, RunNotFound
from saga_flow.records import Snapshot

_AT_ONCE: Final = 200
"""So many handles an asynchronous iterator takes at once: a page of the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlePage:
    """One page of runs, newest first."""

    items: tuple[Handle[Any], ...]
    next_cursor: str | None
    """Give it to ``page()`` for what follows; None at the end."""


class Selection:
    """The runs that a frozen filter describes; read afresh by each method."""

    def __init__(self, filter_: Any) -> None:
        self.filter = filter_

    def signalable(self) -> Selection:
        """Return those of them that a signal would wake."""
        return Selection(replace(self.filter, signalable=True))

    def handles(self) -> list[Handle[Any]]:
        """Return pinned handles of all of them, newest first."""
        return list(self.iterator())

    def iterator(self) -> Iterator[Handle[Any]]:
        """Yield pinned handles, page by page, however many there are."""
        for snapshot in ports.queries().runs.iterate(self.filter):
            yield _pinned(snapshot)

    def page(self, cursor: str | None = None, size: int = 50) -> HandlePage:
        """
        Return the page of 1 to 200 runs that begins at *cursor*.

        Raises InvalidCursor for one that is not of this selection, and InvalidFilter
        for a size out of range.
        """
        found = ports.queries().runs.page(self.filter, cursor, size)
        return HandlePage(
            items=tuple(map(_pinned, found.items)), next_cursor=found.next_cursor
        )

    def first(self) -> Handle[Any] | None:
        """Return the newest of them, or None."""
        return next(self.iterator(), None)

    def get(self) -> Handle[Any]:
        """Return the only one. Raises RunNotFound or MultipleObjectsReturned."""
        found = self.iterator()
        one = next(found, None)
        if one is None:
            raise RunNotFound(f"No run fits {self.filter!r}.")
        if next(found, None) is not None:
            raise MultipleObjectsReturned(
                f"More than one run fits {self.filter!r}; use first(), page() or "
                "iterator(), or say more."
            )
        return one

    def count(self, cap: int | None = 10_000) -> int:
        """
        Return how many there are; *cap* + 1 means that there are more than *cap*.

        With ``cap=None`` all are counted, which takes long on a big table.
        """
        return ports.queries().runs.count(self.filter, cap)

    async def aiterator(self) -> AsyncIterator[Handle[Any]]:
        """Yield what :meth:`iterator` does; each page is awaited."""
        async for handle in one_by_one(self.iterator(), _AT_ONCE):
            yield handle

    ahandles = twin(handles)
    apage = twin(page)
    afirst = twin(first)
    aget = twin(get)
    acount = twin(count)


def chosen(params: Mapping[str, Any]) -> Selection:
    """Return the runs of *params*; a class or an instance may stand for its name."""
    filled = dict(params)
    subject = filled.pop("subject", None)
    if subject is not None:
        if filled.get("business_key") is not None:
            raise InvalidFilter(
                "subject= and business_key= say the same thing; give one of them."
            )
        filled["business_key"] = subject_key(subject)
    if isinstance(filled.get("workflow"), type):
        filled["workflow"] = definition_of(filled["workflow"]).name
    return Selection(ports.queries().flow_filter(filled))


def _pinned(snapshot: Snapshot) -> Handle[Any]:
    return Handle.of_snapshot(snapshot, pinned=True)

"""Lists of runs: newest first, by keyset, so that every page costs the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from saga_flow.exceptions import InvalidFilter
from saga_flow.models import FlowRun, FlowSignal, FlowTag
from saga_flow.queries import cursors
from saga_flow.queries.filters import FlowFilter
from saga_flow.queries.reading import rows_of
from saga_flow.queries.snapshots import dated_snapshots
from saga_flow.records import Snapshot
from saga_flow.states import FlowStatus, SignalStatus
from saga_flow.store import repair

MAX_PAGE: Final = 200
COUNT_CAP: Final = 10_000
FEW: Final = 500
"""Up to so many runs a label counts as rare."""

_CHOICES: Final = ("closed_reason", "compensation_state")
_EXACT: Final = {
    "workflow": "workflow_name",
    "version": "workflow_version",
    "instance_id": "instance_id",
    "queue": "queue",
    "tenant": "tenant",
    "business_key": "business_key",
    "wait_kind": "wait_kind",
    "created_after": "created_at__gte",
    "created_before": "created_at__lt",
    "closed_after": "closed_at__gte",
    "closed_before": "closed_at__lt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list."""

    items: tuple[Snapshot, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last one."""


def page(filter: FlowFilter, cursor: str | None = None, size: int = 50) -> Page:  # noqa: A002 - the word is the parameter's name everywhere
    """
    Return *size* runs (1 to 200), newest first, after *cursor*.

    Runs with one and the same time are neither lost nor repeated. Raises
    InvalidCursor, and InvalidFilter for a size out of range.
    """
    if type(size) is not int or not 1 <= size <= MAX_PAGE:
        raise InvalidFilter(
            f"size={size!r} is not the size of a page; legal are 1 to {MAX_PAGE}."
        )
    fingerprint = filter.fingerprint()
    found = _matching(filter)
    if cursor is not None:
        after = cursors.decode(cursor, fingerprint)
        # The first term lets an index find the place; an OR alone would not.
        found = found.filter(sort_at__lte=after.sort_at).filter(
            Q(sort_at__lt=after.sort_at) | Q(id__lt=after.id)
        )
    dated = dated_snapshots(_newest(found, filter.statuses, size + 1))
    items = tuple(run for _, run in dated[:size])
    if len(dated) <= size:
        return Page(items=items, next_cursor=None)
    sort_at, run = dated[size - 1]
    last = cursors.Position(sort_at=sort_at, id=run.run_id)
    return Page(items=items, next_cursor=cursors.encode(last, fingerprint))


def count(filter: FlowFilter, cap: int | None = None) -> int:  # noqa: A002 - as in page()
    """
    Return how many runs match.

    With a *cap* at most *cap* + 1, which means that there are more than *cap*; pages
    count like this, since a whole count takes long on a big table.
    """
    found = _matching(filter).order_by()
    if cap is None:
        return found.count()
    return found.values("pk")[: cap + 1].count()


def iterate(filter: FlowFilter, size: int = MAX_PAGE) -> Iterator[Snapshot]:  # noqa: A002 - as in page()
    """Yield every run that matches, newest first, holding one page in memory."""
    cursor: str | None = None
    while True:
        found = page(filter, cursor, size)
        yield from found.items
        if found.next_cursor is None:
            return
        cursor = found.next_cursor


def first(filter: FlowFilter) -> Snapshot | None:  # noqa: A002 - as in page()
    """Return the newest run that matches, or None."""
    return next(iter(page(filter, size=1).items), None)


def _newest(
    found: QuerySet[FlowRun], statuses: frozenset[FlowStatus], limit: int
) -> QuerySet[FlowRun]:
    """
    Return the first *limit* of *found*.

    No index is in the order of several statuses at once, so the newest of each are
    merged. All in one statement: between two of them a run could change its status,
    and be on neither page.
    """
    if not 1 < len(statuses) < len(FlowStatus):
        return _newest_first(found)[:limit]
    parts = [
        _newest_first(found.filter(status=each)).values("pk")[:limit]
        for each in sorted(statuses)
    ]
    return _newest_first(rows_of(FlowRun).filter(pk__in=_all_of(parts)))[:limit]


def _all_of(parts: Sequence[QuerySet[Any, Any]]) -> RawSQL:
    # Not union(): on SQLite Django refuses it for parts with a limit, and MariaDB has
    # no limit right behind IN. Subselects of subselects are understood by all. The
    # text is the compiler's own; values stay parameters.
    compiled = [part.query.get_compiler(using=part.db).as_sql() for part in parts]
    text = " UNION ALL ".join(
        f"SELECT * FROM ({sql}) of_{n}"  # noqa: S608
        for n, (sql, _) in enumerate(compiled)
    )
    values = [value for _, values in compiled for value in values]
    return RawSQL(f"SELECT * FROM ({text}) merged", values)  # noqa: S608, S611


def _newest_first(found: QuerySet[FlowRun]) -> QuerySet[FlowRun]:
    return found.order_by("-sort_at", "-id")


def _matching(wanted: FlowFilter) -> QuerySet[FlowRun]:
    found = rows_of(FlowRun).filter(**_conditions(wanted))
    if wanted.archived is not None:
        found = found.filter(archived_at__isnull=not wanted.archived)
    if wanted.ids is not None:
        found = found.filter(pk__in=wanted.ids)
    if wanted.statuses != frozenset(FlowStatus):
        found = found.filter(status__in=sorted(wanted.statuses))
    if wanted.stuck:
        found = found.filter(repair.nothing_wakes())
    for key, value in wanted.tag.items():
        found = _labelled(found, key, value)
    if wanted.awaiting_signal is not None:
        waits = rows_of(FlowSignal).filter(
            name=wanted.awaiting_signal, status=SignalStatus.WAITING
        )
        found = found.filter(pk__in=waits.values("run_id"))
    return found


def _labelled(found: QuerySet[FlowRun], key: str, value: str) -> QuerySet[FlowRun]:
    # A rare label is fastest looked up, a common one tested run by run, in the order
    # of the list; no planner is relied on to tell them apart.
    tags = rows_of(FlowTag).filter(key=key, value=value)
    some = list(tags.values_list("run_id", flat=True)[: FEW + 1])
    if len(some) <= FEW:
        return found.filter(pk__in=some)
    return found.filter(Exists(tags.filter(run_id=OuterRef("pk"))))


def _conditions(wanted: FlowFilter) -> dict[str, Any]:
    conditions = {
        column: value
        for name, column in _EXACT.items()
        if (value := getattr(wanted, name)) is not None
    }
    for name in _CHOICES:
        values = getattr(wanted, name)
        if values:
            conditions[f"{name}__in"] = sorted(values)
    return conditions

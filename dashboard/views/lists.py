"""The list of runs, and the way from an id to its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    QueryDict,
)
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.pages import page, problem
from dashboard.policy import operators_only
from dashboard.presenters import lists
from saga_flow import clock, queries
from saga_flow.exceptions import InvalidCursor, InvalidFilter, RunNotFound
from saga_flow.queries import filters, operations
from saga_flow.queries import runs as listing
from saga_flow.records import Snapshot
from saga_flow.states import FlowStatus

PAGE: Final = 50
SEVERAL: Final = frozenset({"status", "closed_reason", "compensation_state", "tag"})
OWN: Final = frozenset({"cursor"})
"""What the address may carry besides filters."""


@operators_only
@require_safe
def runs(request: HttpRequest, view: str = "") -> HttpResponseBase:
    """One page of runs, newest first."""
    if view not in lists.VIEWS:
        return problem(
            request,
            status=404,
            title="No such list",
            told=f"There is no list {view!r}. Lists are "
            f"{', '.join(slug for slug in lists.VIEWS if slug)}.",
        )
    given = _given(request.GET)
    try:
        wanted = filters.flow_filter(_merged(lists.VIEWS[view], given))
        found = listing.page(wanted, request.GET.get("cursor"), PAGE)
    except (InvalidFilter, InvalidCursor) as error:
        return problem(
            request, status=400, title="This list can't be shown", told=str(error)
        )
    return _page(request, lists.VIEWS[view], given, wanted, found)


@operators_only
@require_safe
def find(request: HttpRequest) -> HttpResponseBase:
    """Go to the run that an instance id or a run id names."""
    text = request.GET.get("q", "").strip()
    try:
        run = queries.snapshot(queries.locate(text))
    except RunNotFound:
        return problem(
            request,
            status=404,
            title="Not found",
            told=f"No run has the instance id or run id {text!r}.",
        )
    return HttpResponseRedirect(address(run))


def address(run: Snapshot) -> str:
    """Where the page of *run* is."""
    return reverse("saga_dashboard:run", args=(run.instance_id, run.run_id))


def _given(query: QueryDict) -> dict[str, Any]:
    # A form sends its empty fields too; they ask for nothing.
    given = {name: _filled(query, name) for name in query if name not in OWN}
    return {name: value for name, value in given.items() if value or _odd(name)}


def _filled(query: QueryDict, name: str) -> str | list[str]:
    if name in SEVERAL:
        return [each for each in query.getlist(name) if each]
    return query.get(name, "").strip()


def _odd(name: str) -> bool:
    return name not in filters.NAMES


def _merged(view: lists.View, given: Mapping[str, Any]) -> dict[str, Any]:
    for name in view.fixed:
        if name in given:
            raise InvalidFilter(
                f"The list {view.slug!r} already says which {name} it shows; use the "
                f"list of all runs to ask for another."
            )
    return {**given, **view.fixed}


def _page(
    request: HttpRequest,
    view: lists.View,
    given: Mapping[str, Any],
    wanted: filters.FlowFilter,
    found: listing.Page,
) -> HttpResponse:
    now = clock.now()
    ids = [run.run_id for run in found.items]
    undos, tags = operations.undo_counts(ids), operations.tags_of(ids)
    context = {
        "view": view,
        "views": lists.VIEWS.values(),
        "rows": [lists.row(run, undos, tags, now) for run in found.items],
        "count": lists.how_many(
            listing.count(wanted, listing.COUNT_CAP), listing.COUNT_CAP
        ),
        "given": given,
        "chips": _chips(given),
        "statuses": FlowStatus,
        "older": _address(given, cursor=found.next_cursor),
        "paged": "cursor" in request.GET,
        "filters": urlencode(given, doseq=True),
    }
    return page(request, "runs", context)


def _address(given: Mapping[str, Any], cursor: str | None) -> str:
    if cursor is None:
        return ""
    return "?" + urlencode({**given, "cursor": cursor}, doseq=True)


def _chips(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each condition in force, with the address of the list without it."""
    chips = []
    for name, value in given.items():
        rest = {other: each for other, each in given.items() if other != name}
        told = ", ".join(value) if isinstance(value, list) else value
        chips.append((f"{name} {told}", "?" + urlencode(rest, doseq=True)))
    return chips

"""One run, one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_safe

from dashboard import policy
from dashboard.pages import page, problem
from dashboard.policy import operators_only
from dashboard.presenters import actions, badges, details, lists
from dashboard.presenters.durations import took
from dashboard.presenters.failures import trouble
from dashboard.views.lists import address
from saga_flow import clock, queries
from saga_flow.exceptions import RunNotFound
from saga_flow.queries import operations
from saga_flow.queries.payloads import preview
from saga_flow.records import Snapshot, Target

STEPS, LINES, OTHERS = 100, 100, 200
Reader = Callable[[HttpRequest, Snapshot], dict[str, Any]]


@operators_only
@require_safe
def instance(request: HttpRequest, instance_id: str) -> HttpResponseBase:
    """Go to the instance's current run."""
    try:
        return HttpResponseRedirect(
            address(queries.snapshot(Target(instance_id=instance_id)))
        )
    except RunNotFound as error:
        return missing(request, error)


@operators_only
@require_safe
def run(request: HttpRequest, instance_id: str, run_id: UUID) -> HttpResponseBase:
    """The run's header and one of its tabs."""
    try:
        found = queries.snapshot(Target(instance_id=instance_id, run_id=run_id))
        tab = request.GET.get("tab", STEPS_TAB)
        read = TABS[tab][1]
        context = {**header(request, found), **read(request, found)}
    except RunNotFound as error:
        return missing(request, error)
    except (KeyError, ValueError) as error:
        return problem(
            request,
            status=400,
            title="No such part of the page",
            told=f"{error} is not legal. Tabs are {', '.join(TABS)}; after and before "
            "take a number.",
        )
    return page(request, "run", {**context, "tab": tab})


@operators_only
@require_safe
def step(
    request: HttpRequest, instance_id: str, run_id: UUID, sequence: int
) -> HttpResponseBase:
    """One step: every attempt, its arguments and its result."""
    try:
        found = queries.snapshot(Target(instance_id=instance_id, run_id=run_id))
    except RunNotFound as error:
        return missing(request, error)
    row = queries.step(run_id, sequence)
    if row is None:
        told = f"Run {run_id} has no step at ordinal {sequence}."
        return missing(request, RunNotFound(told))
    undos = queries.compensations(run_id, sequences=[sequence])
    tries = queries.attempts(run_id, sequences=[sequence], limit=OTHERS)
    [laid_out] = details.steps([row], undos, tries, clock.now())
    payloads = {
        "Arguments": row.arguments,
        "Progress": row.progress,
        "Result": row.result,
        **{
            f"Result that came too late ({number})": result
            for number, result in enumerate(operations.late_results(row), 1)
        },
        "Arguments of its undo": undos[0].arguments if undos else None,
        "Options": row.options,
    }
    context = {
        "run": found,
        "address": address(found),
        "step": laid_out,
        "payloads": _previews(payloads),
    }
    return page(request, "step", context)


def missing(request: HttpRequest, error: RunNotFound) -> HttpResponseBase:
    """The page for what is not there, or no longer."""
    return problem(request, status=404, title="Not found", told=str(error))


def header(request: HttpRequest, found: Snapshot) -> dict[str, Any]:
    """What stands above every tab."""
    counts = operations.step_counts(found.run_id)
    undos = operations.undo_counts([found.run_id])
    offered = actions.offered(found)
    return {
        "run": found,
        "address": address(found),
        "status": badges.badge(found.status),
        "rollback": badges.rollback_badge(
            found.compensation_state, undos.get(found.run_id)
        ),
        "trouble": trouble(found.error),
        "note": lists.note(found),
        "took": took(found.started_at, found.closed_at, clock.now()),
        "progress": details.progress(counts),
        "actions": [each for each in offered if policy.may(request, each.slug)],
        "why_none": actions.why_none(found)
        or "Your account may read here, but not act.",
        "tags": queries.tags(found.run_id),
        "answer": _answer(request, found),
        "tabs": [(name, word) for name, (word, _) in TABS.items()],
    }


def _answer(request: HttpRequest, found: Snapshot) -> Any:
    """The command that a form has just sent, for the notice above the page."""
    given = request.GET.get("command")
    row = operations.command(UUID(given)) if given else None
    if row is None or row.instance_id != found.instance_id:
        return None
    return row


def _steps(request: HttpRequest, found: Snapshot) -> dict[str, Any]:
    rows = queries.steps(
        found.run_id,
        after=_number(request, "after"),
        limit=STEPS + 1,
        payloads=False,
    )
    shown = rows[:STEPS]
    ordinals = [row.sequence for row in shown]
    undos = queries.compensations(found.run_id, sequences=ordinals, payloads=False)
    tries = queries.attempts(found.run_id, sequences=ordinals, limit=OTHERS)
    return {
        "steps": details.steps(shown, undos, tries, clock.now()),
        "next": f"?after={ordinals[-1]}" if len(rows) > STEPS else "",
        "paged": "after" in request.GET,
    }


def _waits(_: HttpRequest, found: Snapshot) -> dict[str, Any]:
    signals = queries.signals(found.run_id, limit=OTHERS, payloads=False)
    timers = queries.timers(found.run_id, limit=OTHERS)
    children = queries.children(found.run_id, limit=OTHERS, payloads=False)
    return {
        "signals": details.waits(signals),
        "timers": [(timer, badges.badge(timer.status)) for timer in timers],
        "children": [(child, badges.badge(child.status)) for child in children],
        "shown_at_most": OTHERS,
    }


def _journal(request: HttpRequest, found: Snapshot) -> dict[str, Any]:
    before = _number(request, "before")
    rows = queries.history(
        found.run_id, before=before, limit=LINES + 1, newest_first=True
    )
    shown = rows[:LINES]
    older = f"?tab=journal&before={shown[-1].sequence}" if len(rows) > LINES else ""
    return {
        "lines": details.lines(shown),
        "older": older,
        "paged": before is not None,
    }


def _commands(_: HttpRequest, found: Snapshot) -> dict[str, Any]:
    rows = queries.commands(found.run_id, limit=OTHERS, payloads=False)
    return {"commands": details.commands(rows[::-1])}


def _data(_: HttpRequest, found: Snapshot) -> dict[str, Any]:
    payloads = {
        "Arguments": queries.arguments(found.run_id),
        "Result": found.result,
    }
    return {"payloads": _previews(payloads), "memo": dict(found.memo)}


def _previews(payloads: Mapping[str, str | None]) -> list[tuple[str, Any]]:
    return [
        (name, preview(stored))
        for name, stored in payloads.items()
        if stored is not None
    ]


def _number(request: HttpRequest, name: str) -> int | None:
    given = request.GET.get(name)
    return None if given is None else int(given)


STEPS_TAB: Final = "steps"
TABS: Final[Mapping[str, tuple[str, Reader]]] = {
    STEPS_TAB: ("Steps and undos", _steps),
    "waits": ("Signals and waits", _waits),
    "journal": ("Journal", _journal),
    "commands": ("Commands", _commands),
    "data": ("Data", _data),
}

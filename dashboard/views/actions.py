"""The forms by which an operator acts: one asks, the same one does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from dashboard import policy
from dashboard.pages import page, problem
from dashboard.policy import operators_only
from dashboard.presenters import actions, badges
from dashboard.views.detail import missing
from dashboard.views.lists import address
from saga_flow import client, queries, serialization
from saga_flow.exceptions import DefinitionError, RunNotFound
from saga_flow.queries import operations
from saga_flow.records import Answer, Principal, Request, Snapshot, Target

LEAST_REASON: Final = 3
MOST_REASON: Final = 512


@operators_only
@require_http_methods(["GET", "HEAD", "POST"])
def act(
    request: HttpRequest, instance_id: str, run_id: UUID, action: str
) -> HttpResponseBase:
    """Ask before an action, or do it."""
    if action not in actions.ACTIONS:
        legal = ", ".join(actions.ACTIONS)
        told = f"There is no action {action!r}. Legal are {legal}."
        return problem(request, status=404, title="No such action", told=told)
    if not policy.may(request, action):
        return policy.refusal(request)
    try:
        found = queries.snapshot(Target(instance_id=instance_id, run_id=run_id))
    except RunNotFound as error:
        return missing(request, error)
    asked = actions.ACTIONS[action]
    if request.method != "POST":
        return _form(request, found, asked)
    return _do(request, found, asked)


def _do(
    request: HttpRequest, found: Snapshot, action: actions.Action
) -> HttpResponseBase:
    errors = _errors(request, found, action)
    if errors:
        return _form(request, found, action, errors=errors, status=422)
    try:
        answer = _send(request, found, action)
    except (DefinitionError, ValueError) as error:
        told = {"payload": str(error)}
        return _form(request, found, action, errors=told, status=422)
    if not answer.accepted:
        told = {"": f"{answer.message} ({answer.outcome})"}
        return _form(request, found, action, errors=told, status=409)
    notice = f"?command={answer.command_id}" if answer.command_id else ""
    return HttpResponseRedirect(address(found) + notice)


def _errors(
    request: HttpRequest, found: Snapshot, action: actions.Action
) -> dict[str, str]:
    given = request.POST
    errors = {}
    if action.slug == "signal":
        if not given.get("name", "").strip():
            errors["name"] = "Name the signal, such as approval."
    elif len(given.get("reason", "").strip()) < LEAST_REASON:
        errors["reason"] = (
            f"Say why, in at least {LEAST_REASON} characters; it is kept for others."
        )
    if action.grave and given.get("confirm", "").strip() != found.instance_id:
        errors["confirm"] = f"Type {found.instance_id} to confirm."
    return errors


def _send(request: HttpRequest, found: Snapshot, action: actions.Action) -> Answer:
    target = Target(
        instance_id=found.instance_id, run_id=found.run_id, tenant=found.tenant
    )
    given = request.POST
    asked = Request(
        source="dashboard",
        principal=Principal(
            type="user", id=str(request.user.pk), label=request.user.get_username()
        ),
        reason=given.get("reason", "").strip()[:MOST_REASON],
        expected_revision=_revision(request, action),
    )
    match action.slug:
        case "cancel":
            return client.cancel(target, asked)
        case "compensate":
            return client.compensate(target, asked)
        case "terminate":
            return client.terminate(target, asked)
    return client.signal(target, given["name"].strip(), _payload(request), asked)


def _payload(request: HttpRequest) -> str:
    value = json.loads(request.POST.get("payload", "").strip() or "null")
    return serialization.encode(value, what="payload")


def _revision(request: HttpRequest, action: actions.Action) -> int | None:
    # Signals are meant to race; everything else acts on what the page showed.
    given = request.POST.get("revision", "")
    return int(given) if action.slug != "signal" and given else None


def _form(
    request: HttpRequest,
    found: Snapshot,
    action: actions.Action,
    errors: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponseBase:
    context: dict[str, Any] = {
        "run": found,
        "address": address(found),
        "status": badges.badge(found.status),
        "action": action,
        "legal": found.status in action.legal,
        "consequence": actions.consequence(
            action, operations.step_counts(found.run_id)
        ),
        "errors": errors or {},
        "general": (errors or {}).get("", ""),
        "given": request.POST,
        "name": request.POST.get("name") or _awaited(found),
    }
    return page(request, "action", context, status=status)


def _awaited(found: Snapshot) -> str:
    return found.wait_name if found.wait_kind == "signal" else ""

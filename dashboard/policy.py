"""
Who may see the console and who may act in it; the only place that decides it.

Closed by default: reading takes a staff account, and each action its own permission,
which superusers have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import (
    global_settings,
    settings,  # noqa: TID251 - LOGIN_URL is the host's, no option of ours
)
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from django.views.decorators.cache import never_cache

from dashboard.pages import problem

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_read(request: HttpRequest) -> bool:
    """Whether this account may see runs: an active member of the staff."""
    return request.user.is_active and request.user.is_staff


def may(request: HttpRequest, action: str) -> bool:
    """Whether this account may do *action*: permission ``saga_flow.<action>_run``."""
    return may_read(request) and request.user.has_perm(f"saga_flow.{action}_run")


def operators_only(view: View[P]) -> View[P]:
    """Send the anonymous to the login page, refuse who may not read; never cache."""

    @wraps(view)
    def guarded(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if isinstance(request.user, AnonymousUser):
            return redirect_to_login(request.get_full_path(), login_url())
        if not may_read(request):
            return refusal(request)
        return view(request, *args, **kwargs)

    return never_cache(guarded)


def refusal(request: HttpRequest) -> HttpResponse:
    """The page that says that this account may not."""
    return problem(
        request,
        status=403,
        title="Not for this account",
        told=f"{request.user.get_username()} may not do this. Reading takes a staff "
        "account, and each action its own permission.",
    )


def login_url() -> str:
    """The host's LOGIN_URL; the admin's login where the host never set one."""
    wanted = resolve_url(settings.LOGIN_URL)
    if settings.LOGIN_URL != global_settings.LOGIN_URL or _leads_somewhere(wanted):
        return wanted
    try:
        return reverse("admin:login")
    except NoReverseMatch:
        return wanted


def _leads_somewhere(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True

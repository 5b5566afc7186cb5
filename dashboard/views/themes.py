"""The choice between light, dark and what the browser prefers."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dashboard.pages import THEME_COOKIE, THEMES, problem
from dashboard.policy import operators_only

_KEPT: Final = timedelta(days=365)


@operators_only
@require_POST
def choose(request: HttpRequest) -> HttpResponseBase:
    """Remember a theme in a cookie and go back to where the form was."""
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        return problem(
            request,
            status=400,
            title="No such theme",
            told=f"theme={theme!r} is not legal. Legal are {', '.join(THEMES)}.",
        )
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = reverse("saga_dashboard:runs")
    response = HttpResponseRedirect(back)
    response.set_cookie(
        THEME_COOKIE, theme, max_age=_KEPT, samesite="Lax", secure=request.is_secure()
    )
    return response

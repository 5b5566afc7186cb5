"""What every page carries, and the page for what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

THEMES: Final = ("auto", "light", "dark")
THEME_COOKIE: Final = "saga_theme"


def page(
    request: HttpRequest, name: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """Answer with template ``saga_dashboard/<name>.html``."""
    shared = {"theme": theme_of(request), "here": request.get_full_path()}
    return render(
        request, f"saga_dashboard/{name}.html", {**shared, **context}, status=status
    )


def problem(
    request: HttpRequest, *, status: int, title: str, told: str
) -> HttpResponse:
    """Say what went wrong and what to do; *told* is plain text."""
    return page(request, "problem", {"title": title, "told": told}, status=status)


def theme_of(request: HttpRequest) -> str:
    """light, dark, or auto: then the browser's preference counts."""
    wanted = request.COOKIES.get(THEME_COOKIE, "")
    return wanted if wanted in THEMES else THEMES[0]

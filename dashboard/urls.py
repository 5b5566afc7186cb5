"""The addresses of the console."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "saga_dashboard"

urlpatterns: list[URLPattern] = []

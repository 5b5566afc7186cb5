"""The console where the README mounts it, Django's admin beside it."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("admin/", admin.site.urls),
    path("sagas/", include("dashboard.urls")),
    path("", RedirectView.as_view(pattern_name="saga_dashboard:home")),
]

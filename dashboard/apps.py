"""The console as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DashboardConfig(AppConfig):
    """The console, labelled apart from other apps that are called dashboard."""

    name = "dashboard"
    label = "saga_dashboard"
    verbose_name = _("Saga Flow console")
    default_auto_field = "django.db.models.BigAutoField"

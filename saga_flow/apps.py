"""Wires the app into Django; decides nothing."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SagaFlowConfig(AppConfig):
    """Durable sagas inside a Django project."""

    name = "saga_flow"
    label = "saga_flow"
    verbose_name = _("Saga Flow")
    default_auto_field = "django.db.models.BigAutoField"

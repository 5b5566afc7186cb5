"""Wires the app into Django; decides nothing."""

from __future__ import annotations

from contextlib import suppress

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from saga_flow import registry


class SagaFlowConfig(AppConfig):
    """Durable sagas inside a Django project."""

    name = "saga_flow"
    label = "saga_flow"
    verbose_name = _("Saga Flow")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Bind the doors and the executor, then find every workflow and action."""
        # the tables can be imported only now
        from saga_flow import checks, client, executors, pulse, queries  # noqa: PLC0415
        from saga_flow.authoring import ports  # noqa: PLC0415
        from saga_flow.sweeps import schedule  # noqa: PLC0415

        ports.bind(client=client, queries=queries)
        checks.register()
        # A bad SAGA_FLOW is for a check to tell; every use of an option raises still.
        with suppress(ImproperlyConfigured):
            executors.bind()
            pulse.connect()
        post_migrate.connect(
            schedule.install, sender=self, dispatch_uid="saga_flow.schedule"
        )
        registry.ready()

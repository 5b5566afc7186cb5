"""The zoo as a Django app of the test settings."""

from __future__ import annotations

from django.apps import AppConfig


class ZooConfig(AppConfig):
    """Workflows, actions and the ledger of what the actions did."""

    name = "tests.zoo"
    label = "zoo"
    default_auto_field = "django.db.models.BigAutoField"

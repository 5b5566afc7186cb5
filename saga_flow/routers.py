"""Sends the engine's tables to the alias that holds them."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Model

from saga_flow import conf

LABELS: Final = frozenset({"saga_flow", "saga_dashboard"})


class SagaFlowRouter:
    """
    Puts the engine's and the console's tables into ``SAGA_FLOW["DATABASE"]``.

    For ``DATABASE_ROUTERS``, before routers that have a word for every app. It has
    none for other apps' tables, those of django-q2 among them.
    """

    def db_for_read(self, model: type[Model], **_: Any) -> str | None:
        """Return the engine's alias for one of its tables."""
        return _alias(model._meta.app_label)

    def db_for_write(self, model: type[Model], **_: Any) -> str | None:
        """Return the engine's alias for one of its tables."""
        return _alias(model._meta.app_label)

    def allow_relation(self, one: Model, other: Model, **_: Any) -> bool | None:
        """Allow a relation between two of the engine's rows; no word on others."""
        labels = {one._meta.app_label, other._meta.app_label}
        return True if labels <= LABELS else None

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
        """Allow the engine's tables on its alias and nowhere else."""
        alias = _alias(app_label)
        return None if alias is None else db == alias


def _alias(app_label: str) -> str | None:
    return conf.get().DATABASE if app_label in LABELS else None

"""Model instances as arguments: stored as a reference, loaded afresh when read."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization.markers import MODEL


def is_saved(instance: Model) -> bool:
    """Tell whether a reference to *instance* could be followed."""
    return instance.pk is not None and not instance._state.adding


def reference(instance: Model, pk: object) -> dict[str, object]:
    """Return the marker of *instance*, whose key as JSON is *pk*."""
    alias = instance._state.db or DEFAULT_DB_ALIAS
    label = instance._meta.label_lower
    return {MODEL: label, "pk": pk, "using": alias}


def model_named(label: str) -> type[Model]:
    """Return the model of a stored label."""
    try:
        return apps.get_model(label)
    except (LookupError, ValueError) as error:
        raise PayloadNotDecodable(
            f"A stored reference names the model {label!r}, which is not installed "
            "in this process. Install its app, or deploy the code that has it."
        ) from error


def load(node: dict[str, Any]) -> Model:
    """
    Return the instance that a marker refers to, as it is in the database now.

    Raises PayloadNotDecodable where the row is gone: it never turns into None.
    """
    model, alias = model_named(node[MODEL]), node["using"]
    pk = tuple(node["pk"]) if isinstance(node["pk"], list) else node["pk"]
    manager = model._base_manager
    found: Model | None = manager.using(alias).filter(pk=pk).first()
    if found is None:
        raise PayloadNotDecodable(
            f"{node[MODEL]} {pk!r} was passed as an argument and is no longer "
            f"in database {alias!r}. Restore the row, or pass its values instead."
        )
    return found

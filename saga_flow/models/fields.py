"""Column types that mean the same on every vendor."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from saga_flow.serialization.sealing import seal

_BYTE_WISE = {"postgresql": "C", "mysql": "utf8mb4_nopad_bin"}


class NameField(models.CharField):  # type: ignore[type-arg]
    """Names, ids, tags, keys, statuses: compared byte by byte, also on MariaDB."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        parameters: Any = super().db_parameters(connection)
        collation = _BYTE_WISE.get(connection.vendor)
        if collation is not None:
            parameters["collation"] = collation
        return parameters


class DocumentField(models.TextField):  # type: ignore[type-arg]
    """
    JSON text.

    Never jsonb: that turns 1e16 into an integer and refuses ``\\u0000``.
    """


class PayloadField(DocumentField):
    """JSON text of what authors pass, sealed where the host has named a codec."""

    def get_prep_value(self, value: Any) -> Any:
        """Seal what is written through the ORM."""
        prepared = super().get_prep_value(value)
        return seal(prepared) if isinstance(prepared, str) else prepared


@cache
def payload_columns(model: type[models.Model]) -> frozenset[str]:
    """The columns of *model* that are sealed."""
    return frozenset(
        field.attname
        for field in model._meta.concrete_fields
        if isinstance(field, PayloadField)
    )


class RunKey(models.ForeignKey):  # type: ignore[type-arg]
    """
    The run that a row belongs to.

    Without a database constraint: every insert follows the guarded UPDATE of its
    run row in one transaction, so an orphan can't be written, and the hot path
    is spared a look-up per row (docs/decisions/0002-no-foreign-key-constraints.md).
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("to", "saga_flow.FlowRun")
        options.setdefault("on_delete", models.CASCADE)
        options["db_constraint"] = False
        options.setdefault("db_index", False)
        super().__init__(**options)

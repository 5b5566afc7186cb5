"""The database's time inside a query that Django builds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Expression
from django.db.models.sql.compiler import SQLCompiler

from saga_flow.store import dialect


class Now(Expression):
    """The database's present time, read when the statement runs."""

    def __init__(self) -> None:
        super().__init__(output_field=DateTimeField())

    def as_sql(
        self,
        compiler: SQLCompiler,  # noqa: ARG002 - Django's signature
        connection: BaseDatabaseWrapper,  # noqa: ARG002 - Django's signature
    ) -> tuple[str, tuple[Any, ...]]:
        """What :func:`saga_flow.store.dialect.now` says."""
        moment = dialect.now()
        return moment.text, tuple(dialect.Binding().bound(moment.parameters))


def ago(span: timedelta) -> Any:
    """*span* before the database's present time."""
    return Now() - span


def ahead(span: timedelta) -> Any:
    """*span* after the database's present time."""
    return Now() + span

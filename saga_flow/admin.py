"""
The engine's tables in Django's admin: to be read, never written.

Every change goes through ``saga_flow.client``, so the admin offers none. It stays
usable with a million rows: no whole counts, no date hierarchy, no payloads in lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from saga_flow import models
from saga_flow.models.fields import DocumentField
from saga_flow.queries.payloads import line_data, preview, shown
from saga_flow.store import dialect
from saga_flow.store.options import load_redaction

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Model]
else:
    Base = admin.ModelAdmin

VIEW: Final = "saga_flow.view_run"
MOST: Final = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts up to a cap, so that a count costs the same at any size."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, at most ten thousand."""
        found: Any = self.object_list
        return int(found.order_by().values("pk")[:MOST].count())


class LeanChangeList(ChangeList):
    """Lists rows without the columns of any size."""

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        """Leave payloads where they are."""
        payloads = [
            field.name
            for field in self.model._meta.concrete_fields
            if isinstance(field, DocumentField)
        ]
        return super().get_queryset(request, exclude_parameters).defer(*payloads)


class ReadOnlyAdmin(Base):
    """One table: listed, filtered, looked at."""

    actions = None
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = CappedPaginator
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        """Read the database that the engine writes."""
        return super().get_queryset(request).using(dialect.alias())

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show payloads as the console does: opened, bounded, redacted."""
        payloads = {
            field.name: _shown(field)
            for field in self.model._meta.concrete_fields
            if isinstance(field, DocumentField)
        }
        return [
            payloads.get(name, name) if isinstance(name, str) else name
            for name in super().get_fields(request, obj)
        ]

    def get_changelist(self, *_: object, **__: object) -> type[ChangeList]:
        """List without payloads."""
        return LeanChangeList

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether this account may see runs at all."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, *_: object) -> bool:
        """Whether this account may see runs: one permission for every table."""
        return request.user.has_perm(VIEW)

    def has_add_permission(self, *_: object, **__: object) -> bool:
        """Nobody adds a row by hand."""
        return False

    def has_change_permission(self, *_: object, **__: object) -> bool:
        """Nobody changes a row by hand."""
        return False

    def has_delete_permission(self, *_: object, **__: object) -> bool:
        """Nobody deletes a row by hand."""
        return False

    def get_view_on_site_url(self, obj: Model | None = None) -> str | None:
        """The run's page in the console, where the host has mounted it."""
        run = obj if isinstance(obj, models.FlowRun) else getattr(obj, "run", None)
        if run is None:
            return None
        try:
            return reverse("saga_dashboard:run", args=(run.instance_id, run.pk))
        except NoReverseMatch:
            return None


def _shown(field: DocumentField) -> Callable[[Any], str]:
    """What shows one column of any size of a row."""

    @admin.display(description=field.verbose_name)
    def show(row: Any) -> str:
        stored = getattr(row, field.attname)
        if stored is None:
            return ""
        if isinstance(row, models.FlowEvent):
            return json.dumps(line_data(json.loads(stored)))
        hidden = load_redaction(getattr(row, "options", "{}"))
        return preview(shown(field.attname, stored, hidden)).text

    show.__name__ = field.name
    return show


@admin.register(models.FlowRun)
class FlowRunAdmin(ReadOnlyAdmin):
    """Runs, newest first."""

    list_display = (
        "instance_id",
        "run_number",
        "workflow_name",
        "status",
        "compensation_state",
        "created_at",
        "closed_at",
    )
    list_filter = ("status", "compensation_state", "closed_reason")
    search_fields = ("instance_id__exact", "business_key__exact")
    search_help_text = "A whole instance id or business key"
    ordering = ("-sort_at", "-id")


@admin.register(models.ActionRun)
class ActionRunAdmin(ReadOnlyAdmin):
    """Steps."""

    list_display = ("run_id", "sequence", "name", "status", "attempt", "in_doubt")
    list_filter = ("status",)


@admin.register(models.ActionAttempt)
class ActionAttemptAdmin(ReadOnlyAdmin):
    """Failed, lost and superseded attempts."""

    list_display = ("run_id", "sequence", "attempt", "undo", "outcome", "closed_at")


@admin.register(models.CompensationRun)
class CompensationRunAdmin(ReadOnlyAdmin):
    """Undos."""

    list_display = ("run_id", "sequence", "order", "name", "status", "attempt")
    list_filter = ("status",)


@admin.register(models.FlowSignal)
class FlowSignalAdmin(ReadOnlyAdmin):
    """Wait-markers and deliveries."""

    list_display = ("run_id", "name", "status", "sequence", "timeout_at", "created_at")
    list_filter = ("status",)


@admin.register(models.FlowTimer)
class FlowTimerAdmin(ReadOnlyAdmin):
    """Durable sleeps."""

    list_display = ("run_id", "sequence", "status", "fire_at")
    list_filter = ("status",)


@admin.register(models.FlowChild)
class FlowChildAdmin(ReadOnlyAdmin):
    """Links to child runs."""

    list_display = ("run_id", "sequence", "workflow_name", "status", "child")
    list_filter = ("status",)


@admin.register(models.SideEffect)
class SideEffectAdmin(ReadOnlyAdmin):
    """Recorded values."""

    list_display = ("run_id", "sequence", "kind", "key", "created_at")
    list_filter = ("kind",)


@admin.register(models.FlowCommand)
class FlowCommandAdmin(ReadOnlyAdmin):
    """Requests to the engine."""

    list_display = (
        "created_at",
        "type",
        "instance_id",
        "status",
        "outcome",
        "principal_label",
        "source",
    )
    list_filter = ("status",)


@admin.register(models.FlowEvent)
class FlowEventAdmin(ReadOnlyAdmin):
    """The journal."""

    list_display = ("run_id", "sequence", "type", "step", "actor", "at")


@admin.register(models.FlowTag)
class FlowTagAdmin(ReadOnlyAdmin):
    """Labels."""

    list_display = ("run_id", "key", "value")


@admin.register(models.Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Processes that execute."""

    list_display = ("id", "host", "pid", "queue", "status", "started_at", "beat_at")
    list_filter = ("status",)


@admin.register(models.Lease)
class LeaseAdmin(ReadOnlyAdmin):
    """Who leads the pulse and each sweep."""

    list_display = ("name", "owner", "until", "ran_at")
    ordering = ("name",)

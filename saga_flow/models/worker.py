"""Who executes, and who leads."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.ids import uuid7
from saga_flow.models.checks import one_of
from saga_flow.models.fields import NameField
from saga_flow.states import WorkerStatus


class Worker(models.Model):
    """One incarnation of a process that executes; never a host and pid alone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    status = NameField(max_length=16, choices=WorkerStatus.choices)
    host = models.CharField(max_length=191)
    pid = models.PositiveIntegerField()
    queue = NameField(max_length=100, default="", blank=True)
    build = models.CharField(max_length=64, default="", blank=True)
    holding = models.TextField(default="", blank=True)
    """What it executes right now, for people."""

    started_at = models.DateTimeField()
    beat_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_worker"
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        default_permissions = ()
        constraints = (one_of("status", WorkerStatus, "saga_flow_worker_status"),)
        indexes = (
            models.Index(fields=("status", "beat_at"), name="saga_flow_worker_silent"),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class Lease(models.Model):
    """The right to lead the pulse or to run one sweep."""

    name = NameField(max_length=64, primary_key=True)
    owner = models.UUIDField(null=True)
    until = models.DateTimeField()
    """A holder that has not renewed by then may be replaced."""

    ran_at = models.DateTimeField(null=True)
    """When a sweep of this name last ended."""

    report = models.TextField(default="", blank=True)
    """The counts that it reported, as JSON."""

    class Meta:
        db_table = "saga_flow_lease"
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.name)

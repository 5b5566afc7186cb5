"""What was asked of the engine, what happened, and how runs are labelled."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.ids import uuid7
from saga_flow.models.checks import one_of
from saga_flow.models.fields import DocumentField, NameField, PayloadField, RunKey
from saga_flow.states import CommandStatus


class FlowCommand(models.Model):
    """One request to the engine, accepted or not."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = NameField(max_length=64, default="", blank=True)
    type = NameField(max_length=32)
    target_scope = models.CharField(max_length=16, default="instance")
    instance_id = NameField(max_length=191)
    requested_run = models.UUIDField(null=True)
    run = RunKey(null=True, on_delete=models.SET_NULL, related_name="commands")
    sequence = models.PositiveBigIntegerField(null=True)
    """Its number among the run's commands: the journal number it was written at."""

    source = models.CharField(max_length=16, default="python")
    principal_type = NameField(max_length=32, default="", blank=True)
    principal_id = NameField(max_length=191, default="", blank=True)
    principal_label = models.CharField(max_length=191, default="", blank=True)
    reason = models.CharField(max_length=512, default="", blank=True)
    request_id = models.CharField(max_length=191, default="", blank=True)
    fingerprint = models.CharField(max_length=64, default="", blank=True)
    """SHA-256 of what was asked: the same key with another body is refused."""

    idempotency_key = NameField(max_length=191, null=True)
    payload = PayloadField(null=True)
    status = NameField(max_length=16, choices=CommandStatus.choices)
    outcome = models.CharField(max_length=48)
    rejection_reason = models.CharField(max_length=48, default="", blank=True)
    message = models.CharField(max_length=512, default="", blank=True)
    created_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)
    rejected_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_command"
        verbose_name = _("command")
        verbose_name_plural = _("commands")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "type", "idempotency_key"),
                name="saga_flow_command_key",
            ),
            one_of("status", CommandStatus, "saga_flow_command_status"),
        )
        indexes = (
            models.Index(fields=("run", "created_at"), name="saga_flow_command_run"),
            models.Index(
                fields=("tenant", "instance_id", "created_at"),
                name="saga_flow_command_instance",
            ),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.instance_id}: {self.outcome}"


class FlowEvent(models.Model):
    """One journal line; append-only, gap-free per run, never read by replay."""

    run = RunKey(related_name="events")
    sequence = models.PositiveBigIntegerField()
    type = NameField(max_length=48)
    step = models.PositiveBigIntegerField(null=True)
    """The ordinal that it is about, if it is about one."""

    actor = models.CharField(max_length=255, default="", blank=True)
    data = DocumentField(default="{}")
    at = models.DateTimeField()

    class Meta:
        db_table = "saga_flow_event"
        verbose_name = _("journal line")
        verbose_name_plural = _("journal")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_event_number"
            ),
        )

    def __str__(self) -> str:
        return f"{self.sequence} {self.type}"


class FlowTag(models.Model):
    """One searchable label of a run."""

    run = RunKey(related_name="tags")
    key = NameField(max_length=64)
    value = NameField(max_length=191, default="", blank=True)

    class Meta:
        db_table = "saga_flow_tag"
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=("run", "key"), name="saga_flow_tag_once"),
        )
        indexes = (
            models.Index(fields=("key", "value", "run"), name="saga_flow_tag_value"),
        )

    def __str__(self) -> str:
        return f"{self.key}={self.value}"

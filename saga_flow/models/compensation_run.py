"""One undo of a rollback."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.models.checks import one_of
from saga_flow.models.fields import DocumentField, NameField, PayloadField, RunKey
from saga_flow.states import CompensationStatus


class CompensationRun(models.Model):
    """One undo; a second plan or a redelivered job finds it, never makes another."""

    run = RunKey(related_name="compensations")
    sequence = models.PositiveBigIntegerField()
    """The ordinal of the step that it undoes."""

    order = models.IntegerField()
    """Its place in the plan, from 0; one that joined later comes after all others."""

    level = models.IntegerField()
    """Undos of one level may run together; levels run one after another."""

    name = NameField(max_length=191)
    status = NameField(max_length=16, choices=CompensationStatus.choices)
    arguments = PayloadField(default="{}")
    options = DocumentField(default="{}")
    policy = models.CharField(max_length=8, default="stop")
    out_of_order = models.BooleanField(default=False)
    """It joined after its place in the order had passed."""

    attempt = models.PositiveIntegerField(default=0)
    lost_attempts = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    token = models.BigIntegerField(default=0)
    worker = models.UUIDField(null=True, db_index=True)
    error = PayloadField(null=True)
    handled_by = models.CharField(max_length=191, default="", blank=True)
    handled_note = models.CharField(max_length=512, default="", blank=True)
    handled_at = models.DateTimeField(null=True)
    repairs = models.PositiveIntegerField(default=0)
    repair_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_compensation"
        verbose_name = _("compensation")
        verbose_name_plural = _("compensations")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_compensation_once"
            ),
            one_of("status", CompensationStatus, "saga_flow_compensation_status"),
        )
        indexes = (
            models.Index(
                fields=("status", "created_at"), name="saga_flow_compensation_open"
            ),
        )

    def __str__(self) -> str:
        return f"undo of {self.sequence}: {self.name}"

"""One execution of a workflow."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.ids import uuid7
from saga_flow.models.checks import one_of
from saga_flow.models.fields import DocumentField, NameField, PayloadField, RunKey
from saga_flow.states import (
    TERMINAL,
    ClosedReason,
    CompensationState,
    FlowStatus,
    Intent,
)

_TERMINAL = sorted(TERMINAL)


class FlowRun(models.Model):
    """One execution of a workflow; the row that every engine write begins with."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = NameField(max_length=64, default="", blank=True)
    instance_id = NameField(max_length=191)
    run_number = models.PositiveIntegerField(default=1)
    is_current = models.BooleanField(null=True, default=True)
    """TRUE for the instance's current run, else NULL; never FALSE."""

    workflow_name = NameField(max_length=191)
    workflow_version = NameField(max_length=64, default="", blank=True)
    contract = DocumentField(default="{}")
    arguments = PayloadField(null=True)
    result = PayloadField(null=True)
    error = PayloadField(null=True)

    status = NameField(
        max_length=16, choices=FlowStatus.choices, default=FlowStatus.PENDING
    )
    closed_reason = NameField(max_length=16, choices=ClosedReason.choices, null=True)
    closing_as = NameField(max_length=16, choices=FlowStatus.choices, null=True)
    """Where a rollback lands; the first writer wins."""

    rollback_level = models.IntegerField(default=0)
    drain_until = models.DateTimeField(null=True)
    """How long the rollback waits for steps in flight."""

    compensation_state = NameField(
        max_length=16,
        choices=CompensationState.choices,
        default=CompensationState.NONE,
    )

    revision = models.PositiveBigIntegerField(default=1)
    history_seq = models.PositiveBigIntegerField(default=0)
    inbox = models.PositiveBigIntegerField(default=0)
    position = models.PositiveBigIntegerField(default=0)
    """How many ordinals are committed."""

    passes = models.PositiveBigIntegerField(default=0)
    """Counts commits of passes: read after a COMMIT of unknown result."""

    lease_owner = models.UUIDField(null=True, db_index=True)
    lease_epoch = models.PositiveBigIntegerField(default=0)
    wake_at = models.DateTimeField(null=True)
    hint_at = models.DateTimeField(null=True)
    hints = models.PositiveIntegerField(default=0)
    hold_until = models.DateTimeField(null=True)
    holds = models.PositiveIntegerField(default=0)
    repairs = models.PositiveIntegerField(default=0)
    repair_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    intent = NameField(max_length=16, choices=Intent.choices, null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=512, default="", blank=True)
    principal_type = NameField(max_length=32, default="", blank=True)
    principal_id = NameField(max_length=191, default="", blank=True)
    principal_label = models.CharField(max_length=191, default="", blank=True)

    parent = RunKey(
        null=True,
        on_delete=models.SET_NULL,
        related_name="child_runs",
        db_index=True,
    )
    parent_sequence = models.PositiveBigIntegerField(null=True)
    business_key = NameField(max_length=191, default="", blank=True)
    memo = PayloadField(default="{}")
    queue = NameField(max_length=100, default="", blank=True)
    tenancy = PayloadField(null=True)
    """What was captured of the tenant at the start, and whether to restore it."""

    rerun_successor = models.UUIDField(null=True)

    status_summary = models.CharField(max_length=1024, default="", blank=True)
    wait_kind = models.CharField(max_length=16, default="", blank=True)
    wait_name = NameField(max_length=191, default="", blank=True)
    wait_reason = models.CharField(max_length=512, default="", blank=True)
    last_error = models.TextField(default="", blank=True)
    attention = models.CharField(max_length=32, default="", blank=True)
    """Why a person should look: outcome_rejected, in_doubt; empty if nothing."""

    sort_at = models.DateTimeField()
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_run"
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        default_permissions = ()
        permissions = (
            ("view_run", _("May see runs")),
            ("start_run", _("May start runs")),
            ("signal_run", _("May send signals")),
            ("cancel_run", _("May cancel runs, undoing nothing")),
            ("compensate_run", _("May roll runs back")),
            ("terminate_run", _("May close runs by force")),
            ("interrupt_run", _("May pause and resume runs")),
            ("repair_run", _("May supply what a run is missing")),
            ("archive_run", _("May archive closed runs")),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "instance_id", "run_number"),
                name="saga_flow_run_number",
            ),
            models.UniqueConstraint(
                fields=("tenant", "instance_id", "is_current"),
                name="saga_flow_run_current",
            ),
            one_of("status", FlowStatus, "saga_flow_run_status"),
            one_of(
                "compensation_state", CompensationState, "saga_flow_run_compensation"
            ),
            models.CheckConstraint(
                condition=models.Q(closed_at__isnull=False, status__in=_TERMINAL)
                | (models.Q(closed_at__isnull=True) & ~models.Q(status__in=_TERMINAL)),
                name="saga_flow_run_closed_at",
            ),
            models.CheckConstraint(
                condition=~models.Q(status=FlowStatus.CANCELLING)
                | models.Q(closing_as__isnull=False),
                name="saga_flow_run_closing_as",
            ),
            models.CheckConstraint(
                condition=models.Q(is_current=True) | models.Q(is_current__isnull=True),
                name="saga_flow_run_is_current",
            ),
        )
        indexes = (
            # due work: NULL for every run that waits for nothing timed
            models.Index(fields=("wake_at",), name="saga_flow_run_due"),
            # the deadlines sweep, one status at a time, so that closed runs
            # never sit at the head of a batch
            models.Index(
                fields=("status", "expires_at"), name="saga_flow_run_deadline"
            ),
            # the lists by status, newest first, and the list of all
            models.Index(
                fields=("status", "sort_at", "id"), name="saga_flow_run_by_status"
            ),
            models.Index(fields=("sort_at", "id"), name="saga_flow_run_by_age"),
            models.Index(
                fields=("workflow_name", "sort_at", "id"), name="saga_flow_run_by_type"
            ),
            # an instance by its id alone, whatever its tenant
            models.Index(fields=("instance_id",), name="saga_flow_run_by_instance"),
            models.Index(
                fields=("business_key", "sort_at", "id"), name="saga_flow_run_by_key"
            ),
        )

    def __str__(self) -> str:
        return f"{self.instance_id} #{self.run_number}"

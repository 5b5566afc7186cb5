"""One recorded step of a run, and its failed or superseded attempts."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.models.checks import one_of
from saga_flow.models.fields import DocumentField, NameField, PayloadField, RunKey
from saga_flow.states import ActionStatus, ClosedBy


class ActionRun(models.Model):
    """One step: an action asked for at one ordinal of one run."""

    run = RunKey(related_name="steps")
    sequence = models.PositiveBigIntegerField()
    name = NameField(max_length=191)
    status = NameField(max_length=16, choices=ActionStatus.choices)
    closed_by = NameField(max_length=8, choices=ClosedBy.choices, null=True)
    in_doubt = models.BooleanField(default=False)
    """A body was begun and nobody knows whether it took effect."""

    options = DocumentField(default="{}")
    """Retry policy and the like, as they were when the step was scheduled."""

    arguments = PayloadField(default="{}")
    result = PayloadField(null=True)
    error = PayloadField(null=True)
    optional = models.BooleanField(default=False)
    fallback = PayloadField(null=True)

    attempt = models.PositiveIntegerField(default=0)
    """All tries so far, lost ones included."""

    lost_attempts = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    """When the running attempt is over its limit."""

    expires_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    silent_at = models.DateTimeField(null=True)
    """When the running attempt has been without a heartbeat for too long."""

    progress = PayloadField(null=True)
    """What its body last said of itself, as JSON."""

    token = models.BigIntegerField(default=0)
    """The claim; for an inline step the lease epoch."""

    worker = models.UUIDField(null=True, db_index=True)
    """Who executes it; empty when nobody does."""

    queue = NameField(max_length=100, default="", blank=True)
    queued = models.BooleanField(default=False)
    """Whether a job of its own performs it."""

    undo_name = NameField(max_length=191, default="", blank=True)
    undo_arguments = PayloadField(null=True)
    undo_policy = models.CharField(max_length=8, default="", blank=True)
    undo_on_own_failure = models.BooleanField(null=True)
    """NULL: the settings' word counts."""

    block = models.PositiveBigIntegerField(null=True)
    """The first ordinal of those that are undone together with it, as one level."""

    block_index = models.PositiveIntegerField(null=True)
    cycle = models.PositiveIntegerField(default=0)
    repairs = models.PositiveIntegerField(default=0)
    repair_at = models.DateTimeField(null=True)

    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_step"
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_step_ordinal"
            ),
            one_of("status", ActionStatus, "saga_flow_step_status"),
        )
        indexes = (
            # queued steps and retry delays that are due; NULL for all others
            models.Index(fields=("available_at",), name="saga_flow_step_due"),
        )

    def __str__(self) -> str:
        return f"{self.sequence} {self.name}"


class ActionAttempt(models.Model):
    """One failed or superseded try; a success at the first try leaves none."""

    run = RunKey(related_name="attempts")
    sequence = models.PositiveBigIntegerField()
    attempt = models.PositiveIntegerField()
    undo = models.BooleanField(default=False)
    """Whether it was a try of the step's undo."""

    outcome = models.CharField(max_length=16)
    """failed, lost or superseded."""

    error = PayloadField(null=True)
    worker = models.UUIDField(null=True)
    started_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField()

    class Meta:
        db_table = "saga_flow_attempt"
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        default_permissions = ()
        indexes = (
            models.Index(
                fields=("run", "sequence", "attempt"), name="saga_flow_attempt_step"
            ),
        )

    def __str__(self) -> str:
        return f"{self.sequence} attempt {self.attempt}: {self.outcome}"

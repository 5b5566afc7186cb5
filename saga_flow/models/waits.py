"""What a run waits for: signals, timers and children."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.models.checks import one_of
from saga_flow.models.fields import NameField, PayloadField, RunKey
from saga_flow.states import ChildStatus, SignalStatus, TimerStatus


class FlowSignal(models.Model):
    """
    A wait-marker at an ordinal, or a delivery.

    Deliverers only insert. A marker stays the row of its ordinal and names the
    delivery that ended it; a delivery that no marker waited for takes the ordinal.
    """

    run = RunKey(related_name="signals")
    name = NameField(max_length=191)
    status = NameField(max_length=16, choices=SignalStatus.choices)
    sequence = models.PositiveBigIntegerField(null=True)
    cycle = models.PositiveIntegerField(default=0)
    payload = PayloadField(null=True)
    delivery = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, db_constraint=False
    )
    received_seq = models.PositiveBigIntegerField(null=True)
    """The journal number at delivery: the order in which deliveries are read."""

    applied_seq = models.PositiveBigIntegerField(null=True)
    timeout_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_signal"
        verbose_name = _("signal")
        verbose_name_plural = _("signals")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence", "cycle"), name="saga_flow_signal_ordinal"
            ),
            one_of("status", SignalStatus, "saga_flow_signal_status"),
        )
        indexes = (
            models.Index(
                fields=("run", "status", "received_seq"), name="saga_flow_signal_unread"
            ),
            models.Index(fields=("name", "status"), name="saga_flow_signal_awaited"),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.status}"


class FlowTimer(models.Model):
    """One durable timer."""

    run = RunKey(related_name="timers")
    sequence = models.PositiveBigIntegerField()
    status = NameField(max_length=16, choices=TimerStatus.choices)
    fire_at = models.DateTimeField()
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_timer"
        verbose_name = _("timer")
        verbose_name_plural = _("timers")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_timer_ordinal"
            ),
            one_of("status", TimerStatus, "saga_flow_timer_status"),
        )

    def __str__(self) -> str:
        return f"{self.sequence} until {self.fire_at}"


class FlowChild(models.Model):
    """The link from a run to a run that it started."""

    run = RunKey(related_name="children")
    sequence = models.PositiveBigIntegerField()
    child = models.UUIDField(db_index=True)
    workflow_name = NameField(max_length=191)
    status = NameField(max_length=16, choices=ChildStatus.choices)
    close_policy = models.CharField(max_length=16)
    close_requested = models.CharField(max_length=16, default="", blank=True)
    continue_on_failure = models.BooleanField(default=False)
    result = PayloadField(null=True)
    error = PayloadField(null=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "saga_flow_child"
        verbose_name = _("child")
        verbose_name_plural = _("children")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_child_ordinal"
            ),
            one_of("status", ChildStatus, "saga_flow_child_status"),
        )

    def __str__(self) -> str:
        return f"{self.sequence} {self.workflow_name}"

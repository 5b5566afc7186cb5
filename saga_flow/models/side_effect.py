"""One value that was recorded once and is replayed ever after."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from saga_flow.models.checks import one_of
from saga_flow.models.fields import NameField, PayloadField, RunKey
from saga_flow.states import SideEffectKind


class SideEffect(models.Model):
    """A recorded value."""

    run = RunKey(related_name="side_effects")
    sequence = models.PositiveBigIntegerField()
    kind = NameField(max_length=16, choices=SideEffectKind.choices)
    key = NameField(max_length=191, default="", blank=True)
    value = PayloadField(null=True)
    """NULL only for an interrupt that still waits for its resume."""

    created_at = models.DateTimeField()

    class Meta:
        db_table = "saga_flow_side_effect"
        verbose_name = _("side effect")
        verbose_name_plural = _("side effects")
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("run", "sequence"), name="saga_flow_side_effect_ordinal"
            ),
            one_of("kind", SideEffectKind, "saga_flow_side_effect_kind"),
        )

    def __str__(self) -> str:
        return f"{self.sequence} {self.kind} {self.key}"

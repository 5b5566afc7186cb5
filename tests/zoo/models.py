"""What the actions did to the outside world."""

from __future__ import annotations

from django.db import models


class Effect(models.Model):
    """One effect that took place: committed by the body itself, at once."""

    instance_id = models.CharField(max_length=191)
    name = models.CharField(max_length=64)
    attempt = models.PositiveIntegerField()
    key = models.CharField(max_length=191)
    """The step's idempotency key."""

    pid = models.PositiveIntegerField()

    class Meta:
        db_table = "zoo_effect"

    def __str__(self) -> str:
        return f"{self.instance_id} {self.name} {self.attempt}"

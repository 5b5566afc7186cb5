"""Constraints that keep a status column inside its enum."""

from __future__ import annotations

from django.db import models


def one_of(
    column: str, choices: type[models.TextChoices], name: str
) -> models.CheckConstraint:
    """A check that *column* holds a value of *choices*."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{column}__in": sorted(choices.values)}), name=name
    )

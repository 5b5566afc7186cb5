"""The sweeps' rows in django-q2's schedule: a second way, beside the pulse."""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.db import connections, router

from saga_flow import conf

FUNCTION: Final = "saga_flow.jobs.sweep"
_OPTIONS: Final = "q_options={'save': False, 'ack_failure': True}"


def install(*, using: str, **_: Any) -> None:
    """
    Have each sweep run once a minute; a ``post_migrate`` receiver.

    Does nothing where django-q2 is not what executes, or has no table in *using*.
    Rows that are there already keep what an operator has set.
    """
    if conf.get().EXECUTOR != "django_q" or not apps.is_installed("django_q"):
        return
    from django_q.models import Schedule  # noqa: PLC0415 - optional app

    tables = connections[using].introspection.table_names()
    if router.db_for_write(Schedule) != using or Schedule._meta.db_table not in tables:
        return
    _insert_missing(Schedule, using)


def _insert_missing(schedule: Any, using: str) -> None:
    from saga_flow.sweeps import REGISTERED  # noqa: PLC0415 - they import models

    for name in REGISTERED:
        schedule._default_manager.using(using).get_or_create(
            func=FUNCTION,
            args=repr(name),
            defaults={
                "name": f"Saga Flow: {name.replace('_', ' ')}",
                "schedule_type": schedule.MINUTES,
                "minutes": 1,
                "kwargs": _OPTIONS,
            },
        )

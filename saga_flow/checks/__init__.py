"""
System checks: what can't work is an error, what is a risk a warning.

The settings are read into a snapshot, and every rule is a function of it alone.
docs/operations.md lists the ids; ``catalogue`` says what each one means.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.core import checks
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from saga_flow import conf
from saga_flow.checks import catalogue, cluster, project, snapshot

TAG: Final = "saga_flow"
"""For ``manage.py check --tag saga_flow``."""


def register() -> None:
    """Have Django run the checks; once, when its apps are ready."""
    checks.register(settings_hold, TAG)
    checks.register(databases_hold, TAG, checks.Tags.database)


def settings_hold(**_: Any) -> list[CheckMessage]:
    """Judge the settings, without asking any database."""
    try:
        options = conf.get()
    except ImproperlyConfigured as error:
        # Whatever else there is depends on these options.
        return [catalogue.BAD_OPTION.found(str(error))]
    return judge(snapshot.take(options))


def judge(seen: snapshot.Snapshot) -> list[CheckMessage]:
    """Return all that is wrong with what was *seen*."""
    found = [message for rule in project.RULES for message in rule(seen)]
    return [*found, *cluster.found(seen)]


def databases_hold(
    databases: Iterable[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Judge what those of *databases* say that the engine uses."""
    from saga_flow.checks import server  # noqa: PLC0415 - it needs the tables

    try:
        options = conf.get()
    except ImproperlyConfigured:
        return []  # reported with the settings
    asked = frozenset(databases or ())
    found: list[CheckMessage] = []
    if options.DATABASE in asked:
        found += server.found(server.ask(options.DATABASE))
    alias = server.schedule_alias()
    if alias in asked and options.EXECUTOR == "django_q" and options.SWEEPS:
        found += server.unscheduled(alias)
    return found

"""A host with tenants: one is current in a thread, and hooks know which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.contrib.auth.models import Group

current: ContextVar[str] = ContextVar("tenant", default="public")
HERE: Final = "tests.integration.tenancy.hooks"

broken: list[Exception | None] = []
"""What the restoring hook raises, one at each call, first to last."""

broken_ends: list[Exception | None] = []
"""What it raises when it is left, likewise."""

entered: list[str] = []
"""Every tenant that was restored, in order."""


def capture() -> Any:
    """The tenant of the moment."""
    return {"tenant": current.get()}


def capture_nothing_storable() -> Any:
    """What can't be kept."""
    return {"tenant": object()}


@contextmanager
def restore(context: Any) -> Iterator[None]:
    """Be in the tenant that was captured, asking the database as a host may."""
    _break(broken)
    Group.objects.exists()
    entered.append(context["tenant"])
    token = current.set(context["tenant"])
    try:
        yield
    finally:
        current.reset(token)
    _break(broken_ends)


def _break(plan: list[Exception | None]) -> None:
    error = plan.pop(0) if plan else None
    if error is not None:
        raise error


@contextmanager
def tenant(name: str) -> Iterator[None]:
    """Be in a tenant, as a request of it would."""
    token = current.set(name)
    try:
        yield
    finally:
        current.reset(token)

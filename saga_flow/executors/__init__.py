"""
How due work reaches a process: one of three ways, named by ``EXECUTOR``.

Whatever the way, what is handed over is a hint and nothing more. A hint that is
lost, doubled or late changes nothing: the rows are the truth and the sweeps find
what was missed.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Protocol, cast

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from saga_flow import conf
from saga_flow.records import Wake
from saga_flow.store import outbox


class Executor(Protocol):
    """What a module of this package offers."""

    def wake(self, wake: Wake, /) -> None:
        """
        Have what *wake* names looked at soon, by this process or another.

        Called inside the transaction that made the work due; whether the hint is
        part of it or follows its commit is the executor's business. Raises nothing
        for a broker that is away, unless the broker is the same database.
        """


def chosen() -> Executor:
    """The executor that the settings name, imported only now."""
    return cast(Executor, import_module(f"{__name__}.{conf.get().EXECUTOR}"))


def bind() -> None:
    """Let the store hand its wakes to the executor that the settings name."""
    global _bound  # noqa: PLW0603 - one process, one executor
    _bound = conf.get().EXECUTOR
    outbox.bind(chosen().wake)


_bound = ""


@receiver(setting_changed)
def _follow(*, setting: str, **_: object) -> None:
    """A test that overrides ``EXECUTOR`` gets the one that it asks for."""
    # what else is overridden leaves an executor that a test has bound itself
    with suppress(ImproperlyConfigured):
        if setting == "SAGA_FLOW" and _bound != conf.get().EXECUTOR:
            bind()

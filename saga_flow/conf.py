"""The only reader of Django settings: ``SAGA_FLOW``, frozen and typed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cache

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``SAGA_FLOW`` may hold, with its defaults."""

    DATABASE: str = "default"
    """The alias that holds the engine's tables."""

    EXECUTOR: str = "django_q"
    """How due work reaches a process: django_q, inline or none."""

    QUEUE: str = ""
    """The queue of a run that names none; empty: the cluster's own name."""

    HISTORY_MISMATCH: str = "interrupt"
    """interrupt, or fail: what becomes of a run whose code no longer matches."""

    HANDLE_QUERIES: str = ""
    """
    error, warn or allow: a database query made by ``handle()`` itself.

    Empty: error while Django's test environment is set up, else warn.
    """

    SLICE: timedelta = timedelta(seconds=10)
    """How long one pass may go on before it lets other runs have the worker."""

    PAUSE_IN_PASS: timedelta = timedelta(seconds=1)
    """Sleeps and retry delays up to this long are waited out in the pass."""

    DRAIN_LIMIT: timedelta = timedelta(seconds=60)
    """How long a rollback waits for a step in flight that has no timeout."""

    COMPENSATE_FAILED_STEP: bool = False
    """Whether a step that failed is itself undone, where nothing else says so."""

    ON_COMPENSATION_FAILURE: str = "stop"
    """stop or continue, where neither step nor group says so."""

    UNDO_ATTEMPTS: int = 3
    """Tries of an undo whose action names no retry policy."""

    MAX_PAYLOAD_BYTES: int = 2 * 1024 * 1024
    """Largest argument list, result or signal payload, in bytes of JSON."""

    CODEC: str = ""
    """Dotted path to the class that seals payloads; empty: they are plain JSON."""

    MAX_PENDING_SIGNALS: int = 1000
    """How many deliveries a run may hold unread."""

    JOURNAL_REUSED_SIDE_EFFECTS: bool = False
    """Write a journal line each time that a recorded value is handed back."""

    SWEEPS: bool = True
    """Whether the cluster runs the pulse and the sweeps by itself."""

    def __post_init__(self) -> None:
        _legal("EXECUTOR", self.EXECUTOR, ("django_q", "inline", "none"))
        _legal("HISTORY_MISMATCH", self.HISTORY_MISMATCH, ("interrupt", "fail"))
        _legal("HANDLE_QUERIES", self.HANDLE_QUERIES, ("", "error", "warn", "allow"))
        _legal(
            "ON_COMPENSATION_FAILURE",
            self.ON_COMPENSATION_FAILURE,
            ("stop", "continue"),
        )
        for field in fields(self):
            value = getattr(self, field.name)
            wanted = type(field.default)
            if type(value) is not wanted:
                raise ImproperlyConfigured(
                    f"SAGA_FLOW[{field.name!r}] is {value!r}; it takes a "
                    f"{wanted.__name__}, such as {field.default!r}."
                )


def _legal(name: str, value: object, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise ImproperlyConfigured(
            f"SAGA_FLOW[{name!r}] is {value!r}; legal are {', '.join(legal)}."
        )


def parse(raw: object) -> Settings:
    """Return *raw* as settings; an unknown or ill-typed key is an error."""
    if not isinstance(raw, Mapping):
        raise ImproperlyConfigured(f"SAGA_FLOW is {raw!r}; it takes a dict of options.")
    known = {field.name for field in fields(Settings)}
    for key in sorted(raw.keys() - known):
        near = difflib.get_close_matches(key, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ImproperlyConfigured(f"SAGA_FLOW has no option {key!r}.{hint}")
    return Settings(**raw)


@cache
def get() -> Settings:
    """The settings in force. Raises ImproperlyConfigured for a bad option."""
    return parse(getattr(django_settings, "SAGA_FLOW", {}))


@receiver(setting_changed)
def _forget(*, setting: str, **_: object) -> None:
    if setting == "SAGA_FLOW":
        get.cache_clear()

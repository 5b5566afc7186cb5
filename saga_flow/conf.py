"""The only reader of Django settings: ``SAGA_FLOW``, frozen and typed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from datetime import timedelta
from functools import cache
from typing import Any, Final

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

    RUN_EXPIRES_IN: timedelta | None = None
    """Deadline of a run whose start and workflow name none; None: it has none."""

    STEP_EXPIRES_IN: timedelta | None = None
    """From scheduling to outcome of a step that names no limit; None: it has none."""

    SIGNAL_TIMEOUT: timedelta | None = None
    """How long a wait that names no timeout goes on; None: for good."""

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

    MAX_OPERATIONS: int = 50_000
    """How many operations may be recorded of one run."""

    MAX_TAGS: int = 100
    """How many labels a run may have."""

    MAX_MEMO_BYTES: int = 256 * 1024
    """Largest memo of a run, in bytes of JSON."""

    JOURNAL_REUSED_SIDE_EFFECTS: bool = False
    """Write a journal line each time that a recorded value is handed back."""

    TENANCY_CAPTURE: str = ""
    """
    Dotted path of a callable without arguments: the tenant of the moment, as JSON.

    Called at each start; what it returns is kept with the run. Empty: nothing is kept.
    """

    TENANCY_RESTORE: str = ""
    """
    Dotted path of a callable: what was captured goes in, a context manager comes out.

    Entered around whatever of a run's author is called; empty: nothing is restored.
    """

    TENANCY_AUTO: bool = True
    """Whether the tenant is restored where the workflow's ``Meta`` does not say."""

    SWEEPS: bool = True
    """Whether the cluster runs the pulse and the sweeps by itself."""

    def __post_init__(self) -> None:
        for option in fields(self):
            _check(option, getattr(self, option.name))


_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "EXECUTOR": ("django_q", "inline", "none"),
    "HISTORY_MISMATCH": ("interrupt", "fail"),
    "HANDLE_QUERIES": ("", "error", "warn", "allow"),
    "ON_COMPENSATION_FAILURE": ("stop", "continue"),
}
"""The only words that an option takes."""

_MOMENT: Final = timedelta(microseconds=1)
_LEAST: Final[Mapping[str, Any]] = {
    "RUN_EXPIRES_IN": _MOMENT,
    "STEP_EXPIRES_IN": _MOMENT,
    "SIGNAL_TIMEOUT": _MOMENT,
    "SLICE": timedelta(),
    "PAUSE_IN_PASS": timedelta(),
    "DRAIN_LIMIT": timedelta(),
    "UNDO_ATTEMPTS": 1,
    "MAX_PAYLOAD_BYTES": 0,
    "MAX_PENDING_SIGNALS": 0,
    "MAX_OPERATIONS": 0,
    "MAX_TAGS": 0,
    "MAX_MEMO_BYTES": 0,
}
"""The least that an option takes."""


def _check(option: Field[Any], value: Any) -> None:
    """Raise ImproperlyConfigured unless *option* takes *value*."""
    name, default = option.name, option.default
    if default is None and value is None:
        return
    wanted = timedelta if default is None else type(default)
    if type(value) is not wanted:
        such = "timedelta(hours=1)" if default is None else repr(default)
        none = ", or None" if default is None else ""
        raise ImproperlyConfigured(
            f"SAGA_FLOW[{name!r}] is {value!r}; it takes a {wanted.__name__}, such as "
            f"{such}{none}."
        )
    if name in _WORDS and value not in _WORDS[name]:
        raise ImproperlyConfigured(
            f"SAGA_FLOW[{name!r}] is {value!r}; legal are {', '.join(_WORDS[name])}."
        )
    if name in _LEAST and value < _LEAST[name]:
        raise ImproperlyConfigured(
            f"SAGA_FLOW[{name!r}] is {value!r}, which is too little; it takes "
            f"{_LEAST[name]!r} or more."
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

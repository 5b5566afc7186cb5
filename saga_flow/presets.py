"""Settings that are safe to run sagas on: a start, not a straitjacket.

Nothing here reads Django's settings, so a settings module may call it.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

SYNCHRONOUS_LEVELS: Final = ("FULL", "NORMAL", "EXTRA")

# django-q2 stops an overdue worker only when its countdown meets exactly zero,
# which these steps reach and others, such as 0.4, step over.
GUARD_CYCLES: Final = (0.25, 0.5, 1)

_RETRY_SLACK_SECONDS: Final = 10

_POSITIVE_INTEGERS: Final = ("workers", "queue_limit", "bulk", "timeout", "retry")


def q_cluster(**overrides: Any) -> dict[str, Any]:
    """
    Return a ``Q_CLUSTER`` for django-q2 with the ORM broker on ``default``.

    Every option of django-q2 may be given and wins. ``timeout`` and ``retry`` are
    in seconds, ``poll`` and ``guard_cycle`` too. ``queue_limit`` follows
    ``workers``, and ``retry`` follows all of them unless given: a message must not
    be handed out again while it waits behind others or is still being worked on.

    Raises ValueError for a value with which jobs would be lost, run twice at
    once or never be stopped.
    """
    workers = overrides.get("workers", 4)
    options: dict[str, Any] = {
        "name": "saga_flow",
        "orm": "default",
        "workers": workers,
        "queue_limit": workers,
        "bulk": 1,
        "timeout": 120,
        "max_attempts": 5,
        "ack_failures": True,
        "save_limit": -1,
        "poll": 0.1,
        "guard_cycle": 0.5,
        "recycle": 500,
        "catch_up": False,
    } | overrides
    if "redis" in overrides and "orm" not in overrides:
        # django-q2 prefers the ORM broker when both are named.
        del options["orm"]
    _check_integers(options)
    _check_guard_cycle(options["guard_cycle"])
    least = least_retry(options)
    retry = options.setdefault("retry", least)
    if retry < least:
        raise ValueError(
            f"q_cluster(retry={retry!r}) is too short: with timeout="
            f"{options['timeout']}, workers={options['workers']}, queue_limit="
            f"{options['queue_limit']} and bulk={options['bulk']} a message may be "
            f"held for {least} seconds. Leave retry out, or give at least {least}."
        )
    return options


def least_retry(options: dict[str, Any]) -> int:
    """
    Return the shortest safe ``retry``, in seconds, for a ``Q_CLUSTER``.

    That is the time limit of the job itself and of all that may be worked on
    before it, since django-q2 counts from when a message was fetched.
    """
    held = options["queue_limit"] + options["bulk"]
    rounds = 1 + ceil(held / options["workers"])
    return int(options["timeout"] * rounds + _RETRY_SLACK_SECONDS)


def sqlite_options(synchronous: str = "FULL") -> dict[str, Any]:
    """
    Return the ``OPTIONS`` of a SQLite database that several processes share.

    *synchronous* is SQLite's own: ``FULL`` survives a power cut, ``NORMAL`` may
    then lose the last commits, ``EXTRA`` also syncs the directory. A writer waits
    up to 20 seconds for another to finish, and takes the write lock when its
    transaction begins, so that none fails half-way for want of it.

    Raises ValueError for another *synchronous*.
    """
    level = str(synchronous).upper()
    if level not in SYNCHRONOUS_LEVELS:
        raise ValueError(
            f"sqlite_options(synchronous={synchronous!r}) is not one of "
            f"{', '.join(SYNCHRONOUS_LEVELS)}. Use FULL unless losing the last "
            f"commits in a power cut is acceptable."
        )
    return {
        "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={level};",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }


def _check_integers(options: dict[str, Any]) -> None:
    for name in _POSITIVE_INTEGERS:
        value = options.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(
                f"q_cluster({name}={value!r}) must be a whole number of at least 1."
            )


def _check_guard_cycle(value: object) -> None:
    if isinstance(value, bool) or value not in GUARD_CYCLES:
        legal = ", ".join(str(cycle) for cycle in GUARD_CYCLES)
        raise ValueError(
            f"q_cluster(guard_cycle={value!r}) is not one of {legal}: django-q2 "
            f"would not stop a job that runs past its timeout. Leave it out for 0.5."
        )

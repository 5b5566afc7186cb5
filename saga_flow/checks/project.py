"""Django's own settings, and the database that the engine is to live in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.core.checks import CheckMessage

from saga_flow.checks import catalogue
from saga_flow.checks.snapshot import Database, Snapshot

Found = Iterator[CheckMessage]

_VENDORS: Final = frozenset({"sqlite", "postgresql", "mysql"})
_SERVERS: Final = frozenset({"postgresql", "mysql"})
_LEAST_SQLITE: Final = (3, 35)
_LEAST_BUSY_TIMEOUT: Final = 20
_LOCKS_AT_BEGIN: Final = ("IMMEDIATE", "EXCLUSIVE")
_WAL: Final = re.compile(r"journal_mode\s*[=(]\s*['\"]?wal\b", re.IGNORECASE)


def times(seen: Snapshot) -> Found:
    """Times must be aware."""
    if not seen.use_tz:
        yield catalogue.NAIVE_TIMES.found("USE_TZ is False.")


def alias(seen: Snapshot) -> Found:
    """The engine's alias exists, and Django's routers agree on it."""
    name = seen.conf.DATABASE
    if name not in seen.databases:
        known = ", ".join(sorted(seen.databases))
        yield catalogue.NO_DATABASE.found(
            f"SAGA_FLOW['DATABASE'] is {name!r}; DATABASES has {known}."
        )
    elif seen.routed_to != name:
        yield catalogue.NOT_ROUTED.found(
            f"SAGA_FLOW['DATABASE'] is {name!r}, but Django's routers send "
            f"saga_flow's tables to {seen.routed_to!r}."
        )


def codec(seen: Snapshot) -> Found:
    """The codec gives back what it was given."""
    if seen.codec_problem:
        yield catalogue.BAD_CODEC.found(seen.codec_problem)


def tenancy(seen: Snapshot) -> Found:
    """The hooks are there."""
    if seen.tenancy_problem:
        yield catalogue.BAD_HOOK.found(seen.tenancy_problem)


def vendor(seen: Snapshot) -> Found:
    """The backend is one that the store has SQL for."""
    database = seen.database
    if database is not None and database.vendor not in _VENDORS:
        yield catalogue.OTHER_VENDOR.found(
            f"{_at(seen, 'ENGINE')} is of the kind {database.vendor!r}; legal are "
            "SQLite, PostgreSQL and MariaDB."
        )


def isolation(seen: Snapshot) -> Found:
    """What the settings say about isolation; the server is asked elsewhere."""
    database = seen.database
    if database is not None and database.isolation not in {"", "read committed"}:
        yield catalogue.ISOLATION.found(
            f"{_at(seen, 'OPTIONS')}['isolation_level'] is "
            f"{database.isolation.upper()}; legal is READ COMMITTED."
        )


def requests(seen: Snapshot) -> Found:
    """Requests may be transactions, if the host knows what that means."""
    if seen.database is not None and seen.database.atomic_requests:
        yield catalogue.ATOMIC_REQUESTS.found(
            f"{_at(seen, 'ATOMIC_REQUESTS')} is True."
        )


def sqlite(seen: Snapshot) -> Found:
    """A file that several processes share."""
    database = seen.database
    if database is None or database.vendor != "sqlite":
        return
    if seen.sqlite_version < _LEAST_SQLITE:
        version = ".".join(map(str, seen.sqlite_version))
        yield catalogue.OLD_SERVER.found(f"SQLite is {version}; 3.35 is the least.")
    yield from _sqlite_options(seen, database)


def _sqlite_options(seen: Snapshot, database: Database) -> Found:
    options = _at(seen, "OPTIONS")
    mode = database.options.get("transaction_mode")
    if str(mode).upper() not in _LOCKS_AT_BEGIN:
        yield catalogue.LATE_LOCK.found(
            f"{options}['transaction_mode'] is {mode!r}; legal are "
            f"{' and '.join(_LOCKS_AT_BEGIN)}."
        )
    command = database.options.get("init_command", "")
    if not asks_for_wal(database.options):
        yield catalogue.NO_WAL.found(
            f"{options}['init_command'] is {command!r}; it does not set "
            "PRAGMA journal_mode=WAL."
        )
    timeout = database.options.get("timeout", 5)
    if not isinstance(timeout, int | float) or timeout < _LEAST_BUSY_TIMEOUT:
        yield catalogue.IMPATIENT.found(
            f"{options}['timeout'] is {timeout!r}; {_LEAST_BUSY_TIMEOUT} is the least."
        )


def asks_for_wal(options: Mapping[str, Any]) -> bool:
    """Whether a connection with these ``OPTIONS`` asks for a write-ahead log."""
    return bool(_WAL.search(str(options.get("init_command", ""))))


def connections(seen: Snapshot) -> Found:
    """How a cluster's processes hold on to a server."""
    database = seen.database
    if seen.conf.EXECUTOR != "django_q" or database is None:
        return
    if database.vendor not in _SERVERS:
        return
    if database.options.get("pool"):
        yield _pool(seen)
    elif database.conn_max_age == 0:
        yield catalogue.SHORT_CONNECTIONS.found(f"{_at(seen, 'CONN_MAX_AGE')} is 0.")
    elif not database.conn_health_checks:
        yield catalogue.NO_HEALTH_CHECKS.found(
            f"{_at(seen, 'CONN_HEALTH_CHECKS')} is False, and CONN_MAX_AGE is "
            f"{database.conn_max_age!r}."
        )


def _pool(seen: Snapshot) -> CheckMessage:
    problem = catalogue.POOL if seen.is_cluster else catalogue.POOL_ELSEWHERE
    return problem.found(f"{_at(seen, 'OPTIONS')}['pool'] is set.")


def _at(seen: Snapshot, key: str) -> str:
    return f"DATABASES[{seen.conf.DATABASE!r}][{key!r}]"


RULES: Final[tuple[Callable[[Snapshot], Found], ...]] = (
    times,
    alias,
    codec,
    tenancy,
    vendor,
    isolation,
    requests,
    sqlite,
    connections,
)

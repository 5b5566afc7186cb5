"""The database, chosen by ``SAGA_DB`` and each server's own usual variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from saga_flow import presets


def database(env: Mapping[str, str], *, sqlite_path: Path) -> dict[str, Any]:
    """
    Return Django's description of the database that *env* names.

    ``SAGA_DB`` is ``sqlite`` (the default), ``postgresql`` or ``mariadb``. SQLite
    lies at ``SAGA_SQLITE_PATH``, or else at *sqlite_path*. Servers are found by
    ``PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE`` or ``MYSQL_HOST MYSQL_TCP_PORT
    MYSQL_USER MYSQL_PWD MYSQL_DATABASE``.

    Raises ImproperlyConfigured for another ``SAGA_DB``.
    """
    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        "sqlite": lambda: _sqlite(env, sqlite_path),
        "postgresql": lambda: _postgresql(env),
        "mariadb": lambda: _mariadb(env),
    }
    kind = env.get("SAGA_DB", "sqlite")
    if kind not in kinds:
        raise ImproperlyConfigured(
            f"SAGA_DB={kind!r} is not one of {', '.join(kinds)}. Leave it unset "
            f"for SQLite."
        )
    return kinds[kind]()


def _sqlite(env: Mapping[str, str], path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": env.get("SAGA_SQLITE_PATH", str(path)),
        "OPTIONS": presets.sqlite_options(),
    }


def _postgresql(env: Mapping[str, str]) -> dict[str, Any]:
    # READ COMMITTED is PostgreSQL's default and Django's; the engine's guarded
    # updates count on it, so no other isolation level is set here.
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": env.get("PGDATABASE", "saga_flow"),
        "HOST": env.get("PGHOST", "127.0.0.1"),
        "PORT": env.get("PGPORT", "5432"),
        "USER": env.get("PGUSER", "postgres"),
        "PASSWORD": env.get("PGPASSWORD", ""),
        **_LASTING,
    }


def _mariadb(env: Mapping[str, str]) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.mysql",
        "NAME": env.get("MYSQL_DATABASE", "saga_flow"),
        "HOST": env.get("MYSQL_HOST", "127.0.0.1"),
        "PORT": env.get("MYSQL_TCP_PORT", "3306"),
        "USER": env.get("MYSQL_USER", "root"),
        "PASSWORD": env.get("MYSQL_PWD", ""),
        # MariaDB's own default, REPEATABLE READ, would hide other workers' commits
        # from a transaction that has read before.
        "OPTIONS": {"isolation_level": "read committed", "charset": "utf8mb4"},
        "TEST": {"CHARSET": "utf8mb4"},
        **_LASTING,
    }


# A worker that keeps its connection must notice when the server dropped it.
_LASTING: dict[str, Any] = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}

"""The settings modules: what they choose, and what they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from settings.databases import database

ROOT = Path(__file__).resolve().parents[2]
FALLBACK = Path("/somewhere/saga.sqlite3")

COMPLETE = {
    "SAGA_SECRET_KEY": "x" * 60,
    "SAGA_ALLOWED_HOSTS": "sagas.example.org,www.example.org",
    "SAGA_DB": "sqlite",
    "SAGA_SQLITE_PATH": "/somewhere/saga.sqlite3",
}


def _production(env: dict[str, str], expression: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", f"from settings import production as p; {expression}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip(), done.stderr


def test_sqlite_is_the_default() -> None:
    chosen = database({}, sqlite_path=FALLBACK)

    assert chosen["ENGINE"] == "django.db.backends.sqlite3"
    assert chosen["NAME"] == str(FALLBACK)
    assert chosen["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_the_sqlite_file_may_lie_elsewhere() -> None:
    chosen = database({"SAGA_SQLITE_PATH": "/else/db"}, sqlite_path=FALLBACK)

    assert chosen["NAME"] == "/else/db"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (
            {"SAGA_DB": "postgresql", "PGHOST": "db", "PGPORT": "6000"},
            ("django.db.backends.postgresql", "db", "6000", "saga_flow"),
        ),
        (
            {"SAGA_DB": "mariadb", "MYSQL_HOST": "db", "MYSQL_DATABASE": "orders"},
            ("django.db.backends.mysql", "db", "3306", "orders"),
        ),
    ],
    ids=["postgresql", "mariadb"],
)
def test_a_server_is_found_by_its_own_variables(
    env: dict[str, str], expected: tuple[str, ...]
) -> None:
    chosen = database(env, sqlite_path=FALLBACK)

    assert tuple(chosen[key] for key in ("ENGINE", "HOST", "PORT", "NAME")) == expected
    assert chosen["CONN_MAX_AGE"] is None
    assert chosen["CONN_HEALTH_CHECKS"] is True


def test_mariadb_reads_what_others_committed() -> None:
    chosen = database({"SAGA_DB": "mariadb"}, sqlite_path=FALLBACK)

    assert chosen["OPTIONS"]["isolation_level"] == "read committed"


def test_an_unknown_database_is_refused_with_the_legal_ones() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"'oracle'.*sqlite, postgresql"):
        database({"SAGA_DB": "oracle"}, sqlite_path=FALLBACK)


def test_production_starts_from_a_complete_environment() -> None:
    expression = "print(p.DEBUG, p.ALLOWED_HOSTS, 'examples.shop' in p.INSTALLED_APPS)"

    shown, errors = _production(COMPLETE, expression)

    assert (shown, errors) == (
        "False ['sagas.example.org', 'www.example.org'] False",
        "",
    )


@pytest.mark.parametrize("name", sorted(COMPLETE))
def test_production_names_what_is_missing(name: str) -> None:
    env = {key: value for key, value in COMPLETE.items() if key != name}

    _, errors = _production(env, "print('started')")

    assert f"settings.production needs {name} in the environment." in errors


def test_production_names_all_that_a_server_needs() -> None:
    _, errors = _production(COMPLETE | {"SAGA_DB": "postgresql"}, "pass")

    assert "needs PGHOST, PGUSER, PGPASSWORD, PGDATABASE in" in errors


def test_production_refuses_a_count_that_is_none() -> None:
    _, errors = _production(COMPLETE | {"SAGA_WORKERS": "many"}, "pass")

    assert "SAGA_WORKERS='many' must be a whole number" in errors

"""Whole projects under ``manage.py``: this one's settings, and a host's of its own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support import database

ROOT = Path(__file__).resolve().parents[3]

PRODUCTION = {
    "SAGA_SECRET_KEY": "".join(chr(33 + each) for each in range(70)),
    "SAGA_ALLOWED_HOSTS": "sagas.example.org",
}
PASSWORD = "saga-check"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a host's settings and databases are."""
    return tmp_path


def manage(folder: Path, settings: str, *arguments: str, **env: str) -> tuple[int, str]:
    """Run a command of a project; return its exit code and all that it wrote."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments, "--settings", settings],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(folder),
            "SAGA_SQLITE_PATH": str(folder / "db.sqlite3"),
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def host(folder: Path, *lines: str) -> str:
    """Write settings that are the development ones but for these lines."""
    text = "\n".join(["from settings.dev import *", *lines, ""])
    (folder / "host_settings.py").write_text(text)
    return "host_settings"


@pytest.fixture
def server() -> Iterator[dict[str, str]]:
    """
    This run's own database, by an account with a password, as production wants one.

    From 6.1 on Django asks a MariaDB server for its version in every check.
    """
    found = database.environment()
    if connection.vendor != "mysql":
        yield {"PGPASSWORD": PASSWORD, **{k: v for k, v in found.items() if v}}
        return
    account = f"'saga_check_{os.getpid()}'@'%'"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}'")
        cursor.execute(f"GRANT ALL ON `{found['MYSQL_DATABASE']}`.* TO {account}")
        yield {
            **found,
            "MYSQL_USER": f"saga_check_{os.getpid()}",
            "MYSQL_PWD": PASSWORD,
        }
        cursor.execute(f"DROP USER {account}")


@pytest.mark.conformance
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["dev", "test", "production"])
def test_this_projects_settings_pass_every_check(
    folder: Path, server: dict[str, str], name: str
) -> None:
    surroundings = {**PRODUCTION, **server}
    settings = f"settings.{name}"

    code, said = manage(
        folder, settings, "check", "--fail-level", "WARNING", **surroundings
    )

    # on MariaDB one of django-q2's own is silenced, and only some versions find it
    assert code == 0, said
    assert said.startswith("System check identified no issues (")


def test_a_misspelt_option_is_an_error_with_a_suggestion_and_no_traceback(
    folder: Path,
) -> None:
    settings = host(folder, "SAGA_FLOW = {'EXECUTR': 'none'}")

    code, said = manage(folder, settings, "check")

    assert code == 1
    assert "(saga_flow.E001) SAGA_FLOW has no option 'EXECUTR'." in said
    assert "Did you mean 'EXECUTOR'?" in said
    assert "Traceback" not in said


def test_no_cluster_starts_on_an_error(folder: Path) -> None:
    settings = host(
        folder,
        "DATABASES['default'] = {",
        "    'ENGINE': 'django.db.backends.postgresql',",
        "    'OPTIONS': {'pool': True},",
        "}",
    )

    code, said = manage(folder, settings, "qcluster", "--run-once")
    elsewhere, told = manage(folder, settings, "check")

    assert (code, "(saga_flow.E017)" in said) == (1, True)
    assert (elsewhere, "(saga_flow.W018)" in told) == (0, True)


def test_a_first_migrate_is_quiet_and_leaves_nothing_to_report(folder: Path) -> None:
    _, migrated = manage(folder, "settings.dev", "migrate")
    checked = manage(folder, "settings.dev", "check", "--database", "default")

    assert "saga_flow.W" not in migrated
    assert checked == (0, "System check identified no issues (0 silenced).\n")


def test_the_engine_may_have_a_database_of_its_own(folder: Path) -> None:
    settings = host(
        folder,
        f"ENGINE = {str(folder / 'engine.sqlite3')!r}",
        "DATABASES['engine'] = {**DATABASES['default'], 'NAME': ENGINE}",
        "DATABASE_ROUTERS = ['saga_flow.routers.SagaFlowRouter']",
        "SAGA_FLOW = {'DATABASE': 'engine'}",
        "Q_CLUSTER = {**Q_CLUSTER, 'orm': 'engine'}",
    )

    manage(folder, settings, "migrate")
    manage(folder, settings, "migrate", "--database", "engine")
    checked = manage(folder, settings, "check", "--database", "engine")

    assert checked == (0, "System check identified no issues (0 silenced).\n")
    assert "saga_flow_run" in tables(folder / "engine.sqlite3")
    assert not [
        name for name in tables(folder / "db.sqlite3") if name.startswith("saga_")
    ]


def tables(file: Path) -> set[str]:
    """The tables of a SQLite file."""
    opened = sqlite3.connect(file)
    try:
        rows = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in rows}
    finally:
        opened.close()


@pytest.mark.parametrize(
    "lines",
    [
        ("DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'",),
        ("DEFAULT_AUTO_FIELD = 'django.db.models.SmallAutoField'",),
        ("LANGUAGE_CODE = 'de'", "TIME_ZONE = 'Asia/Kolkata'"),
    ],
    ids=["AutoField", "SmallAutoField", "another language"],
)
def test_no_hosts_settings_ask_for_a_migration_of_the_engines(
    folder: Path, lines: tuple[str, ...]
) -> None:
    settings = host(folder, *lines)

    code, said = manage(folder, settings, "makemigrations", "saga_flow", "--check")

    assert (code, said) == (0, "No changes detected in app 'saga_flow'\n")

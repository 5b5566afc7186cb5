"""Each database is opened in the way that the engine's guarantees count on."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, connections


def _scalar(query: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query)
        [value] = cursor.fetchone()
    return value


@pytest.mark.django_db
def test_a_transaction_sees_what_others_have_committed() -> None:
    match connection.vendor:
        case "postgresql":
            assert _scalar("SHOW transaction_isolation") == "read committed"
        case "mysql":
            assert _scalar("SELECT @@tx_isolation") == "READ-COMMITTED"
        case "sqlite":
            # One writer at a time, from the first statement on.
            assert vars(connections["default"])["transaction_mode"] == "IMMEDIATE"
        case other:
            pytest.fail(f"no rule for {other}")


@pytest.mark.django_db
def test_a_commit_is_durable_and_shared_by_processes() -> None:
    match connection.vendor:
        case "postgresql":
            assert _scalar("SHOW synchronous_commit") == "on"
        case "mysql":
            engine = "SELECT @@default_storage_engine"
            assert _scalar(engine) == "InnoDB"
            assert _scalar("SELECT @@character_set_database") == "utf8mb4"
        case "sqlite":
            assert _scalar("PRAGMA journal_mode") == "wal"
            assert _scalar("PRAGMA synchronous") == 2
            assert Path(connection.settings_dict["NAME"]).is_file()
        case other:
            pytest.fail(f"no rule for {other}")


@pytest.mark.django_db
def test_the_migrations_make_the_tables_of_the_models() -> None:
    call_command("makemigrations", "--check", "--dry-run", "--verbosity", "0")

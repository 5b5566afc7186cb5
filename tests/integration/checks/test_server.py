"""What the database is asked, on each of the databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection
from django.test import override_settings
from django_q.models import Schedule

from saga_flow import checks, sweeps
from saga_flow.checks import catalogue, server
from saga_flow.sweeps import schedule

pytestmark = [pytest.mark.conformance, pytest.mark.django_db(transaction=True)]

LEVELS = {
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}",
    "mysql": "SET SESSION TRANSACTION ISOLATION LEVEL {}",
}


@pytest.fixture
def scheduled() -> None:
    """The sweeps' rows, which a flushed database has lost."""
    schedule.install(using="default")


@pytest.fixture
def fresh_connection() -> Iterator[None]:
    """Let no later test find the connection as this one leaves it."""
    yield
    connection.close()


def asked() -> list[str]:
    return [str(message.id) for message in checks.databases_hold(databases=["default"])]


def test_this_projects_database_is_left_alone(scheduled: None) -> None:
    assert asked() == []


def test_it_answers_with_its_kind_and_version() -> None:
    said = server.ask("default")

    kinds = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}
    assert said.kind == kinds[connection.vendor]
    if connection.vendor == "sqlite":
        assert said.journal_mode == "wal"
    else:
        assert said.isolation == "read committed"
        assert said.version > (10, 0)


@pytest.mark.skipif(
    connection.vendor not in LEVELS, reason="SQLite has one isolation level"
)
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_another_isolation_level_of_the_server_is_an_error(
    scheduled: None, fresh_connection: None, level: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(LEVELS[connection.vendor].format(level))

    [message] = checks.databases_hold(databases=["default"])

    assert message.id == catalogue.ISOLATION.id
    assert f"runs transactions at {level}" in message.msg


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has the mode")
def test_a_file_that_did_not_take_wal_is_reported(
    scheduled: None, fresh_connection: None
) -> None:
    """As on a network disk: the settings ask for WAL and the file has another mode."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=DELETE")

    [message] = checks.databases_hold(databases=["default"])

    assert message.id == catalogue.NO_WAL.id
    assert "'delete'" in message.msg


@pytest.mark.parametrize("name", sweeps.REGISTERED)
def test_a_sweep_without_a_schedule_is_reported(scheduled: None, name: str) -> None:
    Schedule.objects.filter(args=repr(name)).delete()

    [message] = checks.databases_hold(databases=["default"])

    assert message.id == catalogue.NO_SCHEDULE.id
    assert f"The sweep {name!r} has no row" in message.msg


def test_another_functions_row_of_that_argument_does_not_count(
    scheduled: None,
) -> None:
    Schedule.objects.filter(func=schedule.FUNCTION).update(func="shop.jobs.sweep")

    assert asked() == [catalogue.NO_SCHEDULE.id] * len(sweeps.REGISTERED)


@pytest.mark.parametrize("options", [{"EXECUTOR": "none"}, {"SWEEPS": False}], ids=str)
def test_who_sweeps_in_another_way_needs_no_schedule(options: dict[str, Any]) -> None:
    with override_settings(SAGA_FLOW=options):
        assert asked() == []


def test_before_the_first_migrate_there_is_nothing_to_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise that very command would tell to run itself."""
    monkeypatch.setattr(
        connection.introspection, "table_names", lambda: ["django_q_schedule"]
    )

    assert asked() == []


def test_a_database_that_nobody_names_is_not_asked() -> None:
    assert checks.databases_hold() == []
    assert checks.databases_hold(databases=["elsewhere"]) == []


def test_django_runs_them_all() -> None:
    Schedule.objects.all().delete()

    with override_settings(USE_TZ=False):
        found = run_checks(tags=[checks.TAG], databases=["default"])

    # a workflow of another test module may name a queue that nobody serves here
    told = {message.id for message in found} - {catalogue.UNSERVED_QUEUE.id}
    assert told == {catalogue.NAIVE_TIMES.id, catalogue.NO_SCHEDULE.id}

"""What only the database can say; asked by ``migrate`` and ``check --database``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.core.checks import CheckMessage
from django.db import connections, router

from saga_flow import sweeps
from saga_flow.checks import catalogue
from saga_flow.checks.project import asks_for_wal
from saga_flow.store.transaction import atomic
from saga_flow.sweeps import schedule

Found = Iterator[CheckMessage]

_LEAST: Final[Mapping[str, tuple[int, int]]] = {
    "PostgreSQL": (13, 0),
    "MariaDB": (10, 6),
}
_ISOLATION: Final = {
    "PostgreSQL": "SHOW transaction_isolation",
    "MariaDB": "SELECT @@tx_isolation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A database's answers."""

    alias: str
    kind: str
    """How it is called, such as MariaDB or MySQL."""

    version: tuple[int, ...] = ()
    isolation: str = ""
    """Of a transaction as the engine begins them, in words and lower case."""

    journal_mode: str = ""
    """SQLite's, where the settings ask for WAL; else empty."""


def found(server: Server) -> Found:
    """Judge the answers of the engine's database."""
    where = f"The database {server.alias!r}"
    if server.kind == "MySQL":
        yield catalogue.OTHER_VENDOR.found(
            f"{where} is MySQL; legal are SQLite, PostgreSQL and MariaDB."
        )
        return
    least = _LEAST.get(server.kind, ())
    if server.version < least:
        yield catalogue.OLD_SERVER.found(
            f"{where} is {server.kind} {_dotted(server.version)}; "
            f"{_dotted(least)} is the least."
        )
    if server.isolation not in {"", "read committed"}:
        yield catalogue.ISOLATION.found(
            f"{where} runs transactions at {server.isolation.upper()}; legal is "
            "READ COMMITTED."
        )
    if server.journal_mode not in {"", "wal"}:
        yield catalogue.NO_WAL.found(
            f"{where} answers that its journal_mode is {server.journal_mode!r}."
        )


def ask(alias: str) -> Server:
    """Ask the engine's database, in a transaction such as the engine's are."""
    # django-stubs knows no backend's own attributes
    wrapper: Any = connections[alias]
    if wrapper.vendor == "postgresql":
        number = wrapper.pg_version
        version = (number // 10000, number % 10000)
        return _asked(Server(alias=alias, kind="PostgreSQL", version=version))
    if wrapper.vendor == "mysql":
        version = wrapper.mysql_version
        if not wrapper.mysql_is_mariadb:
            return Server(alias=alias, kind="MySQL", version=version)
        return _asked(Server(alias=alias, kind="MariaDB", version=version))
    if wrapper.vendor == "sqlite" and asks_for_wal(wrapper.settings_dict["OPTIONS"]):
        return Server(alias=alias, kind="SQLite", journal_mode=_journal_mode(alias))
    return Server(alias=alias, kind=wrapper.display_name)


def unscheduled(alias: str) -> Found:
    """Report the sweeps without a schedule, once the tables are in *alias*."""
    model: Any = apps.get_model("django_q", "Schedule")
    engine = apps.get_model("saga_flow", "FlowRun")
    tables = connections[alias].introspection.table_names()
    if not {model._meta.db_table, engine._meta.db_table} <= set(tables):
        return
    rows = model._default_manager.using(alias).filter(func=schedule.FUNCTION)
    there = set(rows.values_list("args", flat=True))
    for name in sweeps.REGISTERED:
        if repr(name) not in there:
            yield catalogue.NO_SCHEDULE.found(
                f"The sweep {name!r} has no row in django-q2's schedule."
            )


def schedule_alias() -> str:
    """Where django-q2's schedule is, or empty where django-q2 is not installed."""
    if not apps.is_installed("django_q"):
        return ""
    return str(router.db_for_write(apps.get_model("django_q", "Schedule")))


def _asked(server: Server) -> Server:
    with atomic(), connections[server.alias].cursor() as cursor:
        cursor.execute(_ISOLATION[server.kind])
        answer = str(cursor.fetchone()[0])
    isolation = answer.replace("-", " ").lower()
    return Server(
        alias=server.alias,
        kind=server.kind,
        version=server.version,
        isolation=isolation,
    )


def _journal_mode(alias: str) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        return str(cursor.fetchone()[0]).lower()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version[:2])

"""The test run's own database, for the processes that a test starts."""

from __future__ import annotations

from django.db import connection

VARIABLES = {
    "sqlite": ("sqlite", {"NAME": "SAGA_SQLITE_PATH"}),
    "postgresql": (
        "postgresql",
        {
            "NAME": "PGDATABASE",
            "HOST": "PGHOST",
            "PORT": "PGPORT",
            "USER": "PGUSER",
            "PASSWORD": "PGPASSWORD",
        },
    ),
    "mysql": (
        "mariadb",
        {
            "NAME": "MYSQL_DATABASE",
            "HOST": "MYSQL_HOST",
            "PORT": "MYSQL_TCP_PORT",
            "USER": "MYSQL_USER",
            "PASSWORD": "MYSQL_PWD",
        },
    ),
}


def environment() -> dict[str, str]:
    """
    Return the variables by which another process finds this run's test database.

    They are read by settings.test and settings.dev. The other process sees only
    what is committed, so the test must be one with real transactions.
    """
    kind, names = VARIABLES[connection.vendor]
    opened = connection.settings_dict
    return {
        "DJANGO_SETTINGS_MODULE": "settings.test",
        "SAGA_DB": kind,
        **{variable: str(opened[key]) for key, variable in names.items()},
    }

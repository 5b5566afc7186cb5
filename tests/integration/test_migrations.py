"""The tables are there once the migrations have run."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection


@pytest.mark.covers("M-MISC-2")
@pytest.mark.django_db
def test_the_migrations_make_every_table() -> None:
    tables = set(connection.introspection.table_names())
    models = apps.get_app_config("saga_flow").get_models()

    assert {model._meta.db_table for model in models} <= tables
    call_command("makemigrations", "saga_flow", check=True, dry_run=True, verbosity=0)

"""What a host may expect of the two apps, whatever its settings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models
from django.urls import resolve, reverse
from django.utils.functional import Promise

ROOT = Path(__file__).resolve().parents[2]
LABELS = ("saga_flow", "saga_dashboard")


def fields() -> list[models.Field[Any, Any]]:
    return [
        field
        for label in LABELS
        for model in apps.get_app_config(label).get_models()
        for field in model._meta.get_fields()
        if isinstance(field, models.Field)
    ]


@pytest.mark.parametrize("label", LABELS)
def test_an_app_says_itself_what_its_keys_are(label: str) -> None:
    config = apps.get_app_config(label)

    assert config.default_auto_field == "django.db.models.BigAutoField"
    assert "default_auto_field" in vars(type(config))


def test_nobody_is_stored_as_a_row_of_the_hosts_users() -> None:
    user = get_user_model()

    assert len(fields()) > 100
    assert [field for field in fields() if field.related_model is user] == []


def test_labels_that_people_read_are_translated_when_they_are_shown() -> None:
    for label in LABELS:
        for model in apps.get_app_config(label).get_models():
            for text in (model._meta.verbose_name, model._meta.verbose_name_plural):
                assert isinstance(text, Promise), model
            permissions = [told for _, told in model._meta.permissions]
            assert all(isinstance(told, Promise) for told in permissions), model
    for field in fields():
        shown = [text for _, text in field.choices or ()]
        assert all(isinstance(text, Promise) for text in shown), field


def test_the_console_keeps_to_a_name_of_its_own() -> None:
    address = reverse("saga_dashboard:runs")

    assert resolve(address).namespace == "saga_dashboard"
    for folder in ("templates", "static"):
        found = [each.name for each in (ROOT / "dashboard" / folder).iterdir()]
        assert found == ["saga_dashboard"], folder


def test_what_is_installed_with_it_is_what_it_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    needed = [each.partition(">")[0] for each in project["dependencies"]]
    assert needed == ["django", "django-q2", "djangorestframework"]
    assert set(project["optional-dependencies"]) == {
        *("redis", "postgres", "mysql", "observability", "console"),
    }

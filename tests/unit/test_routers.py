"""The router that a host with a database for the engine alone installs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import router
from django.test import override_settings

from saga_flow.models import ActionRun, FlowRun
from saga_flow.routers import SagaFlowRouter

ELSEWHERE = {"DATABASE": "engine"}


@pytest.fixture(autouse=True)
def engine_elsewhere() -> Any:
    with override_settings(SAGA_FLOW=ELSEWHERE):
        yield


def test_the_engines_rows_are_read_and_written_on_its_alias() -> None:
    chosen = SagaFlowRouter()

    assert chosen.db_for_read(FlowRun) == "engine"
    assert chosen.db_for_write(ActionRun, instance=ActionRun()) == "engine"


def test_so_are_the_consoles() -> None:
    model: Any = SimpleNamespace(_meta=SimpleNamespace(app_label="saga_dashboard"))

    assert SagaFlowRouter().db_for_write(model) == "engine"


def test_it_has_no_word_on_other_apps() -> None:
    chosen = SagaFlowRouter()

    assert chosen.db_for_read(User) is None
    assert chosen.db_for_write(User) is None
    assert chosen.allow_relation(User(), FlowRun()) is None
    assert chosen.allow_migrate("engine", "auth", model_name="user") is None


def test_the_engines_rows_may_point_at_each_other() -> None:
    assert SagaFlowRouter().allow_relation(FlowRun(), ActionRun()) is True


@pytest.mark.parametrize("label", ["saga_flow", "saga_dashboard"])
def test_its_tables_are_made_on_its_alias_only(label: str) -> None:
    chosen = SagaFlowRouter()

    assert chosen.allow_migrate("engine", label, model_name="flowrun") is True
    assert chosen.allow_migrate("default", label, model_name="flowrun") is False


def test_django_finds_it_by_its_name() -> None:
    with override_settings(DATABASE_ROUTERS=["saga_flow.routers.SagaFlowRouter"]):
        assert router.db_for_write(FlowRun) == "engine"
        assert router.db_for_write(User) == "default"

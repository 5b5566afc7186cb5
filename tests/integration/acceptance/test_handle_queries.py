"""A query that ``handle()`` makes itself is caught, and no other."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import Group

from saga_flow import Workflow, action
from saga_flow.engine import watching

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="watching.count")
def count() -> int:
    return Group.objects.count()


class Asks(Workflow):
    class Meta:
        name = "watching.asks"

    def handle(self) -> int:
        self.action(count).run()
        return Group.objects.count()


class Records(Workflow):
    class Meta:
        name = "watching.records"

    def handle(self) -> list[int]:
        self.tag("kind", "recorded")
        self.memo(asked="once")
        first: int = self.action(count).run()
        return [first, self.side_effect("groups", Group.objects.count)]


def test_a_query_of_handle_fails_the_run_and_names_the_line() -> None:
    handle = Asks.using(instance_id="q-1").run_sync()

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["type"] == "QueryInHandle"
    assert "test_handle_queries.py:" in handle.error["message"]
    assert "Put the query into an action" in handle.error["message"]


def test_steps_side_effects_and_the_engine_may_ask() -> None:
    assert Records.using(instance_id="q-2").run_sync().output() == [0, 0]


def test_a_warning_is_told_once_a_line(
    settings: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SAGA_FLOW = {"HANDLE_QUERIES": "warn"}  # type: ignore[attr-defined] # pytest-django's
    watching._told.clear()

    with caplog.at_level(logging.WARNING, logger="saga_flow.engine"):
        for number in range(2):
            assert Asks.using(instance_id=f"q-{number}").run_sync().completed()

    told = [each for each in caplog.messages if "queries the database" in each]
    assert len(told) == 1


def test_it_may_be_allowed(settings: pytest.FixtureRequest) -> None:
    settings.SAGA_FLOW = {"HANDLE_QUERIES": "allow"}  # type: ignore[attr-defined] # pytest-django's

    assert Asks.using(instance_id="q-4").run_sync().completed()

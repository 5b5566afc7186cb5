"""What this process is told, when, and what a receiver can't do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from saga_flow import RESULT, Workflow, action, client, events, flows

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="events.book")
def book() -> str:
    return "room 7"


@action(name="events.free")
def free(room: str) -> None:
    return None


@action(name="events.fail")
def fail() -> None:
    raise ValueError("no bed")


class Stay(Workflow):
    class Meta:
        name = "events.stay"

    def handle(self) -> None:
        self.action(book).compensate_with(free, RESULT).run()
        self.signal("arrival").wait()
        self.action(fail).run()


@pytest.fixture
def heard() -> Iterator[list[str]]:
    found: list[str] = []

    def hear(event: events.Event, **_: Any) -> None:
        assert not transaction.get_connection().in_atomic_block
        found.append(event.type)

    signals = set(events.SIGNALS.values())
    for signal in signals:
        signal.connect(hear)
    yield found
    for signal in signals:
        signal.disconnect(hear)


@pytest.mark.covers("M-SIG-5")
def test_each_change_is_told_once_after_its_commit(heard: list[str]) -> None:
    handle = Stay.using(instance_id="e-1").run_sync()
    handle.signal("arrival")
    client.drive(handle.run_id)

    assert heard == [
        "flow.created",
        "flow.started",
        "action.started",
        "action.completed",
        "signal.received",
        "signal.consumed",
        "action.started",
        "action.failed",
        "rollback.started",
        "compensation.started",
        "compensation.completed",
        "flow.failed",
    ]
    told = {line.type for line in handle.history()}
    assert {"signal.received", "signal.consumed"} <= told


def test_nothing_is_told_of_what_was_rolled_back(heard: list[str]) -> None:
    with transaction.atomic():
        Stay.using(instance_id="e-2").start()
        transaction.set_rollback(True)

    assert heard == []


def test_a_receiver_that_raises_changes_nothing() -> None:
    def explode(**_: Any) -> None:
        raise ZeroDivisionError

    events.action_completed.connect(explode)
    try:
        Stay.using(instance_id="e-3").run_sync()
    finally:
        events.action_completed.disconnect(explode)

    assert flows.load("e-3").status == "waiting"

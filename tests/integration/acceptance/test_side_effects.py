"""Values that are made once and recorded."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings

from saga_flow import Workflow, action, client
from saga_flow.authoring.handle import Handle
from saga_flow.models import SideEffect
from saga_flow.testing import run_workflow, send_signal
from tests.integration.acceptance.conftest import Play
from tests.integration.acceptance.journal import lines
from tests.support.rows import dump


class Dice:
    """A workflow that throws dice once and is replayed three times."""

    def __init__(self) -> None:
        self.thrown = 0
        self.seen: list[int] = []
        dice = self

        def throw() -> int:
            dice.thrown += 1
            return dice.thrown

        class Throwing(Workflow):
            class Meta:
                name = "acceptance.throwing"

            def handle(self) -> int:
                value = self.side_effect("dice", throw)
                dice.seen.append(value)
                for _ in range(2):
                    self.signal("again").wait()
                return value

        self.flow = Throwing


@pytest.mark.covers("M-SIDE-1")
@pytest.mark.django_db
def test_the_function_runs_once_however_often_the_run_is_replayed() -> None:
    dice = Dice()

    handle = run_workflow(dice.flow)
    for _ in range(2):
        handle = send_signal(handle, "again")

    assert dice.thrown == 1
    assert dice.seen == [1, 1, 1]
    assert handle.output() == 1


@pytest.mark.covers("M-SIDE-2")
@pytest.mark.django_db(transaction=True)
def test_a_side_effect_leaves_the_same_rows_synchronously_and_queued(
    work: Play,
) -> None:
    dice = Dice()

    here = dice.flow.using(instance_id="here").run_sync()
    dice.thrown = 0
    queued = work(dice.flow.using(instance_id="queued").start())
    for _ in range(2):
        here.signal("again")
        client.drive(here.run_id)
        queued.signal("again")
        work(queued)

    assert queued.output() == 1
    assert dump(here.run_id) == dump(queued.run_id)


@pytest.mark.covers("M-SIDE-3")
@pytest.mark.django_db
def test_a_recorded_value_is_handed_back_without_a_row_or_a_line() -> None:
    handle = run_workflow(Dice().flow)
    for _ in range(2):
        handle = send_signal(handle, "again")

    assert lines(handle, "side_effect.") == [("side_effect.recorded", 0)]
    assert list(SideEffect.objects.values_list("sequence", "key", "value")) == [
        (0, "dice", "1")
    ]


@pytest.mark.covers("M-SIDE-4")
@pytest.mark.django_db
def test_handing_back_is_journalled_on_request() -> None:
    with override_settings(SAGA_FLOW={"JOURNAL_REUSED_SIDE_EFFECTS": True}):
        handle = run_workflow(Dice().flow)
        for _ in range(2):
            handle = send_signal(handle, "again")

    assert lines(handle, "side_effect.") == [
        ("side_effect.recorded", 0),
        ("side_effect.reused", 0),
        ("side_effect.reused", 0),
    ]
    assert SideEffect.objects.count() == 1


@pytest.mark.django_db
def test_now_uuid4_and_random_are_the_same_in_every_pass() -> None:
    seen: list[tuple[datetime, UUID, float]] = []

    class Values(Workflow):
        class Meta:
            name = "acceptance.values"

        def handle(self) -> None:
            seen.append((self.now(), self.uuid4(), self.random()))
            self.signal("again").wait()

    send_signal(run_workflow(Values), "again")

    first, second = seen
    assert first == second
    moment, key, number = first
    assert moment.tzinfo is not None
    assert key.version == 4
    assert 0 <= number < 1


def _changing(before: str, after: str) -> Handle[Any]:
    """Record *before* at ordinal 0, then replay code that asks for *after* there."""
    asked = [before]

    @action(name="acceptance.note")
    def note() -> None: ...

    class Changing(Workflow):
        class Meta:
            name = "acceptance.changing"

        def handle(self) -> None:
            match asked[-1]:
                case "step":
                    self.action(note).run()
                case "now":
                    self.now()
                case key:
                    self.side_effect(key, lambda: 1)
            self.signal("word").wait()

    handle = run_workflow(Changing)
    asked.append(after)
    return send_signal(handle, "word")


@pytest.mark.covers("M-SIDE-5")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("before", "after", "recorded", "requested"),
    [
        ("dice", "cards", "side_effect 'dice'", "side_effect 'cards'"),
        ("dice", "now", "side_effect 'dice'", "now"),
        ("dice", "step", "side_effect 'dice'", "action 'acceptance.note'"),
        ("step", "dice", "action 'acceptance.note'", "side_effect 'dice'"),
    ],
)
def test_another_call_at_a_recorded_ordinal_is_a_mismatch(
    before: str, after: str, recorded: str, requested: str
) -> None:
    handle = _changing(before, after)

    assert handle.status == "interrupted"
    assert recorded in handle.wait_reason
    assert requested in handle.wait_reason

"""Waiting for what people and other systems say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from saga_flow import Workflow, action, client
from saga_flow.authoring.handle import Handle
from saga_flow.exceptions import CannotSignalTerminalFlow
from saga_flow.models import FlowSignal
from saga_flow.testing import drain, run_workflow, send_signal
from tests.integration.acceptance.conftest import Play
from tests.integration.acceptance.journal import lines
from tests.support.rows import dump


def _waiting() -> type[Workflow]:
    class Waiting(Workflow):
        class Meta:
            name = "acceptance.waiting"

        def handle(self) -> list[str]:
            return [self.signal("word", str).wait() for _ in range(2)]

    return Waiting


@pytest.mark.covers("M-SIG-1")
@pytest.mark.django_db
def test_a_wait_suspends_and_returns_the_payload() -> None:
    handle = run_workflow(_waiting())

    assert handle.status == "waiting"
    assert handle.snapshot.wait_name == "word"
    assert "word" in handle.wait_reason

    handle = send_signal(handle, "word", "first")
    assert handle.status == "waiting"
    assert send_signal(handle, "word", "second").output() == ["first", "second"]


@pytest.mark.covers("M-SIG-2")
@pytest.mark.django_db
def test_a_delivery_before_the_wait_is_taken_without_suspending() -> None:
    handle = _waiting().start()
    handle.signal("word", "first")
    handle.signal("word", "second")

    drain()

    assert handle.refresh().output() == ["first", "second"]
    assert lines(handle, "signal.awaited") == []
    # no marker was needed: the deliveries took the ordinals themselves
    rows = FlowSignal.objects.order_by("sequence")
    assert list(rows.values_list("sequence", "status")) == [
        (0, "consumed"),
        (1, "consumed"),
    ]


@pytest.mark.django_db
def test_deliveries_of_another_name_are_left_alone() -> None:
    handle = run_workflow(_waiting())

    handle = send_signal(handle, "other", "noise")

    assert handle.status == "waiting"
    statuses = {row.name: row.status for row in handle.signals() if row.is_delivery}
    assert statuses == {"other": "received"}


@pytest.mark.covers("M-SIG-3", "M-SIG-7")
@pytest.mark.django_db
def test_a_closed_run_refuses_and_the_refusal_names_run_and_status() -> None:
    handle = run_workflow(_waiting())
    for word in ("first", "second"):
        handle = send_signal(handle, "word", word)
    before = {**dump(handle.run_id), "commands": None}

    with pytest.raises(CannotSignalTerminalFlow) as refusal:
        handle.signal("word", "third")
    assert handle.signal_if_running("word", "third") is False

    assert str(handle.run_id) in str(refusal.value)
    assert handle.instance_id in str(refusal.value)
    assert "completed" in str(refusal.value)
    assert {**dump(handle.run_id), "commands": None} == before


@pytest.mark.covers("M-SIG-4")
@pytest.mark.django_db
def test_the_careful_delivery_is_true_for_a_waiting_run_and_arrives() -> None:
    handle = run_workflow(_waiting())

    assert handle.signal_if_running("word", "first") is True
    assert handle.signal_if_running("word", "second") is True
    drain()

    assert handle.refresh().output() == ["first", "second"]


@pytest.mark.django_db
def test_delivery_and_consumption_are_in_the_journal() -> None:
    handle = run_workflow(_waiting())
    handle = send_signal(handle, "word", "first")

    assert lines(handle, "signal.") == [
        ("signal.awaited", 0),
        ("signal.received", None),
        ("signal.consumed", 0),
        ("signal.awaited", 1),
    ]
    told = [line.data for line in handle.history() if line.type.startswith("signal.")]
    assert {data["name"] for data in told} == {"word"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("early", [True, False])
def test_signals_leave_the_same_rows_synchronously_and_queued(
    work: Play,
    early: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    flow = _waiting()

    def tell(handle: Handle[Any], go_on: Callable[[], object]) -> None:
        if not early:
            go_on()
        for word in ("first", "second"):
            handle.signal("word", word)
            if not early:
                go_on()
        go_on()

    if early:
        here = flow.using(instance_id="here").start()
    else:
        here = flow.using(instance_id="here").run_sync()
    tell(here, lambda: client.drive(here.run_id))
    queued = flow.using(instance_id="queued").start()
    tell(queued, lambda: work(queued))

    assert queued.refresh().output() == ["first", "second"]
    assert dump(here.run_id) == dump(queued.run_id)


def _changing(before: str, after: str) -> Handle[Any]:
    """Record *before* at ordinal 0, then replay code that asks for *after* there."""
    asked = [before]

    @action(name="acceptance.note")
    def note() -> None: ...

    class Changing(Workflow):
        class Meta:
            name = "acceptance.changing"

        def handle(self) -> None:
            if asked[-1] == "step":
                self.action(note).run()
            else:
                self.signal(asked[-1]).wait()
            self.signal("last").wait()

    handle = run_workflow(Changing)
    asked.append(after)
    return send_signal(handle, "word")


@pytest.mark.covers("M-SIG-6", "M-MISC-3")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("before", "after", "recorded", "requested"),
    [
        ("word", "renamed", "signal 'word'", "signal 'renamed'"),
        ("word", "step", "signal 'word'", "action 'acceptance.note'"),
        ("step", "word", "action 'acceptance.note'", "signal 'word'"),
    ],
)
def test_another_call_at_a_recorded_ordinal_is_a_mismatch(
    before: str, after: str, recorded: str, requested: str
) -> None:
    handle = _changing(before, after)

    assert handle.status == "interrupted"
    assert recorded in handle.wait_reason
    assert requested in handle.wait_reason

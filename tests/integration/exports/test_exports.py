"""One run as one JSON document: complete, checkable, and never whole in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from saga_flow import RESULT, Workflow, action, flows
from saga_flow.exceptions import RunNotFound
from saga_flow.ids import uuid7
from saga_flow.models import ActionRun, FlowCommand, FlowEvent, FlowRun
from saga_flow.queries import document, operations, rows
from saga_flow.testing import assert_replays, drain, isolated_registry
from tests.support import seeding
from tests.support.statements import counted

pytestmark = pytest.mark.django_db

READERS: dict[str, tuple[Callable[..., Any], type[Any]]] = {
    "steps": (operations.steps, rows.StepRow),
    "attempts": (operations.attempts, rows.AttemptRow),
    "compensations": (operations.compensations, rows.CompensationRow),
    "signals": (operations.signals, rows.SignalRow),
    "timers": (operations.timers, rows.TimerRow),
    "side_effects": (operations.side_effects, rows.SideEffectRow),
    "children": (operations.children, rows.ChildRow),
    "commands": (operations.commands, rows.CommandRow),
    "journal": (operations.history, rows.JournalRow),
}


def exported(run: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads("".join(document.export(run)))
    return told


def _order() -> Any:
    @action
    def charge(order: str, cents: int) -> dict[str, Any]:
        return {"charge": order, "cents": cents}

    @action
    def refund(charge: str) -> None:
        assert charge

    @action
    def ship(order: str) -> None:
        raise RuntimeError(f"no street for {order}")

    class Order(Workflow):
        class Meta:
            name = "exports.order"

        def handle(self, order: str) -> None:
            self.memo(day=str(self.now().date()))
            step = self.action(charge, order, 2**70)
            step.compensate_with(refund, RESULT["charge"]).run()
            self.sleep(timedelta())
            self.signal("go", str).wait()
            self.action(ship, order).run()

    return Order


def test_a_run_is_exported_with_all_that_it_left() -> None:
    with isolated_registry():
        order = _order()
        start = order.using(instance_id="one", tags={"team": "oslo"})
        handle = start.run_sync("A-1")
        handle.using(reason="ready", principal="ann").signal("go", "now")
        drain()
        run = FlowRun.objects.get()
        told = exported(run.pk)
        assert_replays(order, told)

    assert (told["format"], told["version"]) == ("saga_flow.run", 1)
    assert told["run"]["run_id"] == str(run.pk)
    assert told["run"]["arguments"] == {"args": ["A-1"], "kwargs": {}}
    assert told["tags"] == {"team": "oslo"}
    assert not told["changed_while_read"]
    for name, (read, row) in READERS.items():
        assert len(told[name]) == len(read(run.pk)), name
        for each in told[name]:
            assert each.keys() | rows.STORED_TEXT >= {
                field.name for field in fields(row)
            }
    charged = told["steps"][0]
    assert charged["arguments"]["args"] == ["A-1", 2**70]
    assert charged["result"] == {"charge": "A-1", "cents": 2**70}
    assert [line["sequence"] for line in told["journal"]] == list(
        range(1, run.history_seq + 1)
    )
    sent = [each for each in told["commands"] if each["type"] == "signal"]
    assert [(each["reason"], each["principal_label"]) for each in sent] == [
        ("ready", "ann")
    ]
    empty = {name for name in READERS if not told[name]}
    assert empty == {"children"}


def test_the_checksum_is_that_of_all_before_it() -> None:
    text = "".join(document.export(seeding.run().pk))

    body, _, rest = text.rpartition(',"checksum":')

    digest = hashlib.sha256(body.encode()).hexdigest()
    assert rest == f'"sha256:{digest}"}}\n'


def test_a_payload_is_told_digit_for_digit_or_said_to_be_unreadable() -> None:
    run = seeding.run()
    seeding.step(run, 0, arguments='{"n":0.12345678901234567890}', result="null")
    seeding.step(run, 1, arguments="{broken", result=None)

    text = "".join(document.export(run.pk))
    good, bad = json.loads(text)["steps"]

    assert '"n":0.12345678901234567890' in text
    assert good["result"] is None
    assert "arguments" not in bad
    assert "not JSON" in bad["arguments_unreadable"]
    assert "result" not in bad


def test_what_an_action_redacts_is_hidden_here_too() -> None:
    with isolated_registry():

        @action(redact=("card",))
        def charge(order: str, card: str) -> str:
            return order

        class Payment(Workflow):
            class Meta:
                name = "exports.payment"

            def handle(self) -> str:
                return self.action(charge, "A-1", "4111-secret").run()

        handle = Payment.using(instance_id="one").run_sync()
        text = "".join(handle.export())

    assert "A-1" in text
    assert "4111-secret" not in text


def test_a_page_is_as_long_as_its_rows_are_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document, "PAGE_SIZE", 20_000)
    run = seeding.run()
    big = [f'"{"x" * (9_000 if n < 30 else 9)}"' for n in range(60)]
    ActionRun.objects.bulk_create(
        ActionRun(
            run=run,
            sequence=n,
            name="exports.step",
            status="completed",
            result=result,
            created_at=seeding.START,
        )
        for n, result in enumerate(big)
    )

    with counted() as cost:
        pieces = list(document.export(run.pk))
    steps = [text for text in cost.statements if "saga_flow_step" in text]

    assert [each["sequence"] for each in json.loads("".join(pieces))["steps"]] == list(
        range(60)
    )
    # 10 at first, then 2 at once while they are big, and more when they are not
    assert 12 < len(steps) < 30
    assert max(map(len, pieces)) < document.PIECE + 10_000


def test_tables_that_are_longer_than_a_page_are_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document, "LARGEST_PAGE", 3)
    run = seeding.run()
    for n in range(11):
        seeding.undo(run, n, order=10 - n)
        seeding.line(run, n + 1)
        run.attempts.create(
            sequence=9 - n % 3, attempt=n, outcome="failed", closed_at=seeding.START
        )
        run.signals.create(name="go", status="received", created_at=seeding.START)
        FlowCommand.objects.create(
            run=run, type="signal", status="accepted", created_at=seeding.START
        )

    told = exported(run.pk)

    for name in ("attempts", "compensations", "signals", "commands", "journal"):
        ids = [each.get("id", each["sequence"]) for each in told[name]]
        assert len(set(ids)) == len(ids) == 11, name
        assert ids == sorted(ids), name


def test_it_says_when_the_run_went_on_meanwhile() -> None:
    run = seeding.run()
    pieces = document.export(run.pk)
    FlowRun.objects.filter(pk=run.pk).update(history_seq=7)

    assert json.loads("".join(pieces))["changed_while_read"]


def test_a_run_that_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(RunNotFound):
        document.export(uuid7())


def test_a_handle_exports_the_run_that_it_shows() -> None:
    run = seeding.run("one")
    FlowEvent.objects.create(run=run, sequence=1, type="flow.x", at=seeding.START)
    handle = flows.load("one")

    async def read() -> str:
        return "".join([piece async for piece in (await flows.aload("one")).aexport()])

    text = "".join(handle.export())
    assert json.loads(text)["run"]["instance_id"] == "one"
    assert async_to_sync(read)() == text

"""Values that nobody is shown, over every surface that shows anything."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from saga_flow import RESULT, ActionFailed, Retry, Workflow, action, events, queries
from saga_flow.authoring.handle import Handle
from saga_flow.models import ActionRun, FlowEvent
from saga_flow.records import Outcome
from saga_flow.states import ActionStatus
from saga_flow.store import outcomes
from saga_flow.testing import assert_action_called, run_workflow

pytestmark = pytest.mark.django_db

CARD = "canary-4111-1111"
PIN = Decimal("73.190")
TOKEN = "canary-token-9"
OPEN = "shown-only-with-its-step"
SECRETS = ("canary", "73.190", "73190")


@dataclass
class Card:
    """A value with parts."""

    number: str
    pin: Decimal


@action(name="redaction.refund", retry=Retry(attempts=1))
def refund(order: str, card: Card, token: str | None = None) -> None:
    """Fail, and tell everything."""
    raise RuntimeError(f"can't refund {order} {card} {token}")


@action(name="redaction.void", redact=["reason"])
def void(order: str, *, reason: str) -> None:
    """Have something of its own to hide."""


@action(
    name="redaction.charge",
    retry=Retry(attempts=2),
    redact=["card", RESULT],
)
def charge(order: str, card: Card) -> str:
    """Tell everything at first, then work."""
    from saga_flow import current_step

    if current_step().attempt == 1:
        try:
            raise KeyError(card.number)
        except KeyError as error:
            raise ValueError(f"{order}: {card!r} {card.pin} {card.number}") from error
    return TOKEN


@action(name="redaction.end")
def end() -> None:
    """End the run."""
    raise RuntimeError("the end")


class Selling(Workflow):
    """Sell something, and take it back in vain."""

    class Meta:
        """Its name."""

        name = "redaction.selling"

    def handle(self) -> None:
        """Charge, then fail."""
        card = Card(CARD, PIN)
        step = self.action(charge, OPEN, card)
        token = step.compensate_with(refund, OPEN, card, RESULT).run()
        assert token == TOKEN
        self.action(charge, OPEN, card).compensate_with(void, OPEN, reason=CARD).run()
        self.action(end).run()


@pytest.fixture
def told() -> Iterator[list[events.Event]]:
    """All events of this process."""
    found: list[events.Event] = []

    def listen(event: events.Event, **_: Any) -> None:
        found.append(event)

    for signal in set(events.SIGNALS.values()):
        signal.connect(listen)
    yield found
    for signal in set(events.SIGNALS.values()):
        signal.disconnect(listen)


@pytest.fixture
def sold(
    told: list[events.Event],
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
) -> Handle[Any]:
    """The run after its failed rollback, with a result that came too late."""
    caplog.set_level(logging.DEBUG)
    with django_capture_on_commit_callbacks(execute=True):
        handle = _sold()
    return handle.refresh()


def _sold() -> Handle[Any]:
    handle = run_workflow(Selling)
    late = Outcome(
        sequence=0,
        name=charge.name,
        attempt=1,
        token=0,
        status=ActionStatus.COMPLETED,
        result=json.dumps(TOKEN),
    )
    outcomes.refuse(handle.run_id, late)
    return handle


def commands(handle: Handle[Any]) -> str:
    out = io.StringIO()
    for more in ([], ["--json"]):
        call_command("saga_show", handle.instance_id, "--lines=100", *more, stdout=out)
        call_command("saga_list", *more, stdout=out)
    return out.getvalue()


def _page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def lists_of_the_admin(client: Client) -> str:
    return "\n".join(
        _page(client, reverse(f"admin:saga_flow_{model._meta.model_name}_changelist"))
        for model in apps.get_app_config("saga_flow").get_models()
    )


def pages_of_the_admin(client: Client) -> str:
    return "\n".join(
        _page(
            client,
            reverse(f"admin:saga_flow_{model._meta.model_name}_change", args=[row.pk]),
        )
        for model in apps.get_app_config("saga_flow").get_models()
        for row in model._default_manager.all()
    )


def console(client: Client, handle: Handle[Any], *rest: str) -> str:
    run = f"/sagas/instances/{handle.instance_id}/runs/{handle.run_id}/"
    return "\n".join(
        _page(client, page) for page in ("/sagas/runs/", *(run + each for each in rest))
    )


TABS = ("", *(f"?tab={tab}" for tab in ("waits", "journal", "commands", "data")))
STEPS = tuple(f"steps/{sequence}/" for sequence in range(3))


@pytest.mark.covers("LR-10")
def test_a_redacted_value_shows_nowhere(
    sold: Handle[Any],
    told: list[events.Event],
    admin_client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    surfaces = {
        "commands": commands(sold),
        "console": console(admin_client, sold, *TABS, *STEPS),
        "admin": lists_of_the_admin(admin_client) + pages_of_the_admin(admin_client),
        "readers": repr(
            [
                sold.snapshot,
                sold.actions(),
                sold.compensations(),
                sold.history(),
                queries.attempts(sold.run_id),
            ]
        ),
        "export": "".join(sold.export()),
        "logs": caplog.text,
        "events": repr(told),
        "errors": repr(list(ActionRun.objects.values("error"))),
    }

    assert {event.type for event in told} >= {
        "action.failed",
        "action.completed",
        "action.outcome_rejected",
        "compensation.failed",
    }
    assert sold.failed()
    assert sold.compensation_state == "failed"
    assert {
        (surface, secret)
        for surface, text in surfaces.items()
        for secret in SECRETS
        if secret in text
    } == set()
    assert "[redacted]" in surfaces["console"]
    assert "[redacted]" in surfaces["admin"]
    assert "[redacted]" in surfaces["export"]
    assert "came too late" in surfaces["console"]


@pytest.mark.covers("LR-10")
def test_a_raw_value_shows_with_its_step_alone(
    sold: Handle[Any], told: list[events.Event], admin_client: Client
) -> None:
    lists = (
        commands(sold)
        + lists_of_the_admin(admin_client)
        + console(admin_client, sold, "?tab=waits", "?tab=journal", "?tab=commands")
        + repr(queries.runs.page(queries.FlowFilter()).items)
    )
    # an author's own message is shown, and this one tells the order
    lists = lists.replace(f"{OPEN}: ", "").replace(f"refund {OPEN}", "")

    assert OPEN not in lists
    assert OPEN in console(admin_client, sold, *STEPS)


def test_bodies_and_rows_have_the_values(sold: Handle[Any]) -> None:
    assert CARD in ActionRun.objects.get(sequence=0).arguments
    assert FlowEvent.objects.filter(data__contains=TOKEN).count() == 1
    assert_action_called(charge, times=4, with_args=[OPEN, Card(CARD, PIN)])


def test_what_is_hidden_is_known_without_the_code(sold: Handle[Any]) -> None:
    first, second, _ = sold.actions()
    undos = {undo.sequence: undo for undo in sold.compensations()}

    hidden = f'{{"args":["{OPEN}","[redacted]"],"kwargs":{{}}}}'
    assert (first.arguments, first.result) == (hidden, '"[redacted]"')
    assert second.arguments == hidden
    assert undos[0].arguments == (
        f'{{"args":["{OPEN}","[redacted]","[redacted]"],"kwargs":{{}}}}'
    )
    assert undos[1].arguments == (
        f'{{"args":["{OPEN}"],"kwargs":{{"reason":"[redacted]"}}}}'
    )


def test_handle_gets_the_message_without_them() -> None:
    @action(name="redaction.decline", redact=["card"])
    def decline(card: str) -> None:
        raise ValueError(f"no {card}")

    class Declined(Workflow):
        class Meta:
            name = "redaction.declined"

        def handle(self) -> str:
            try:
                self.action(decline, CARD).run()
            except ActionFailed as error:
                return error.message
            return ""

    assert run_workflow(Declined).output() == "no [redacted]"

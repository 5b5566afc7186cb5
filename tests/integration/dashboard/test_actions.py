"""Acting on a run from its page."""

from __future__ import annotations

import pytest
from django.test import Client

from saga_flow.models import FlowCommand, FlowRun
from saga_flow.states import FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> FlowRun:
    made = seeding.run("order-1", wait_kind="signal", wait_name="approval")
    seeding.step(made)
    return made


def place(run: FlowRun, action: str) -> str:
    return f"/sagas/instances/order-1/runs/{run.pk}/actions/{action}/"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("cancel", "1 completed step stays applied"),
        ("compensate", "The undos of 1 completed step run, newest first"),
        ("terminate", "no undo runs: 1 completed step stays applied"),
        ("signal", "wakes the run"),
    ],
)
def test_a_form_says_what_will_happen(
    admin_client: Client, run: FlowRun, action: str, told: str
) -> None:
    response = admin_client.get(place(run, action))

    assert response.status_code == 200
    assert told in response.content.decode()


def test_the_signal_that_is_awaited_is_filled_in(
    admin_client: Client, run: FlowRun
) -> None:
    assert 'value="approval"' in admin_client.get(place(run, "signal")).content.decode()


def test_cancel_ends_the_run_and_leaves_an_audit_row(
    admin_client: Client, run: FlowRun
) -> None:
    response = admin_client.post(
        place(run, "cancel"), {"reason": "customer called", "revision": run.revision}
    )

    command = FlowCommand.objects.get()
    run.refresh_from_db()
    assert response.status_code == 302
    assert response["Location"].endswith(f"?command={command.pk}")
    assert run.status == FlowStatus.CANCELLED
    assert (command.source, command.principal_label, command.reason) == (
        "dashboard",
        "admin",
        "customer called",
    )
    page = admin_client.get(response["Location"]).content.decode()
    assert str(command.pk) in page
    assert "This run is closed" in page


def test_a_signal_is_delivered_with_its_payload(
    admin_client: Client, run: FlowRun
) -> None:
    response = admin_client.post(
        place(run, "signal"), {"name": "approval", "payload": '{"approved": true}'}
    )

    assert response.status_code == 302
    assert run.signals.get().payload == '{"approved":true}'


@pytest.mark.parametrize(
    ("action", "given", "told"),
    [
        ("cancel", {}, "at least 3 characters"),
        ("terminate", {"reason": "stuck for days"}, "Type order-1 to confirm"),
        ("signal", {"payload": "1"}, "Name the signal"),
        ("signal", {"name": "go", "payload": "{"}, "Expecting"),
    ],
)
def test_a_form_that_is_wrong_comes_back_and_nothing_is_asked(
    admin_client: Client, run: FlowRun, action: str, given: dict[str, str], told: str
) -> None:
    response = admin_client.post(place(run, action), given)

    assert response.status_code == 422
    assert told in response.content.decode()
    assert not FlowCommand.objects.exists()


def test_a_stale_form_is_refused_and_says_so(
    admin_client: Client, run: FlowRun
) -> None:
    response = admin_client.post(
        place(run, "cancel"), {"reason": "customer called", "revision": 99}
    )

    run.refresh_from_db()
    assert response.status_code == 409
    assert 'role="alert"' in response.content.decode()
    assert run.status == FlowStatus.WAITING


def test_a_closed_run_refuses(admin_client: Client) -> None:
    run = seeding.run("order-1", status=FlowStatus.COMPLETED)

    response = admin_client.post(place(run, "cancel"), {"reason": "too late"})

    assert response.status_code == 409
    assert "rejected_not_active" in response.content.decode()


def test_an_unknown_action_is_not_found(admin_client: Client, run: FlowRun) -> None:
    assert admin_client.get(place(run, "explode")).status_code == 404


def test_a_post_without_the_token_is_refused(run: FlowRun, admin_user: object) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)  # type: ignore[arg-type]

    response = client.post(place(run, "cancel"), {"reason": "customer called"})

    assert response.status_code == 403
    assert not FlowCommand.objects.exists()

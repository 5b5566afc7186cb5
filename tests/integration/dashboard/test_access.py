"""Who may see the console, and where the others are sent."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from saga_flow.models import FlowCommand, FlowRun
from tests.support import seeding

pytestmark = pytest.mark.django_db

PLACES = [
    "/sagas/runs/",
    "/sagas/runs/failed/",
    "/sagas/find/?q=x",
    "/sagas/instances/order-1/",
    "/sagas/instances/order-1/runs/{run}/",
    "/sagas/instances/order-1/runs/{run}/steps/0/",
    "/sagas/instances/order-1/runs/{run}/actions/cancel/",
]


@pytest.fixture
def run() -> FlowRun:
    made = seeding.run("order-1")
    seeding.step(made)
    return made


def signed_in(**flags: Any) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ann", **flags))
    return client


@pytest.mark.parametrize("place", PLACES)
def test_the_anonymous_are_sent_to_the_login(place: str, run: FlowRun) -> None:
    response = Client().get(place.format(run=run.pk))

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/?next=")


@pytest.mark.parametrize("place", PLACES)
def test_who_is_not_staff_is_refused(place: str, run: FlowRun) -> None:
    response = signed_in().get(place.format(run=run.pk))

    assert response.status_code == 403
    assert "shop.c" not in response.content.decode()


@pytest.mark.parametrize("place", PLACES[:2] + PLACES[4:6])
def test_staff_may_read(place: str, run: FlowRun) -> None:
    response = signed_in(is_staff=True).get(place.format(run=run.pk))

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]


def test_staff_without_the_permission_may_not_act(run: FlowRun) -> None:
    client = signed_in(is_staff=True)
    page = f"/sagas/instances/order-1/runs/{run.pk}/"

    shown = client.get(page).content.decode()
    response = client.post(f"{page}actions/cancel/", {"reason": "because"})

    assert "Your account may read here, but not act." in shown
    assert response.status_code == 403
    assert not FlowCommand.objects.exists()


def test_one_permission_gives_one_button(run: FlowRun) -> None:
    client = signed_in(is_staff=True)
    allowed = Permission.objects.get(codename="signal_run")
    User.objects.get().user_permissions.add(allowed)

    shown = client.get(f"/sagas/instances/order-1/runs/{run.pk}/").content.decode()

    assert "actions/signal/" in shown
    assert "actions/terminate/" not in shown


def test_a_host_with_a_login_of_its_own_keeps_it(settings: Any) -> None:
    settings.LOGIN_URL = "https://sso.example.org/login"

    response = Client().get("/sagas/runs/")

    assert response["Location"].startswith("https://sso.example.org/login?next=")


def test_a_host_that_never_set_a_login_gets_the_admins(settings: Any) -> None:
    settings.LOGIN_URL = "/accounts/login/"

    response = Client().get("/sagas/runs/")

    assert response["Location"].startswith("/admin/login/")

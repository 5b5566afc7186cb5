"""The engine's tables in Django's admin."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.support import seeding

pytestmark = pytest.mark.django_db

MODELS = [
    model._meta.model_name for model in apps.get_app_config("saga_flow").get_models()
]


def address(model: str | None, page: str = "changelist", *args: object) -> str:
    return reverse(f"admin:saga_flow_{model}_{page}", args=args)


@pytest.mark.parametrize("model", MODELS)
def test_every_table_is_listed(admin_client: Client, model: str) -> None:
    assert admin_client.get(address(model)).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_nobody_adds_a_row(admin_client: Client, model: str) -> None:
    assert admin_client.get(address(model, "add")).status_code == 403


def test_a_run_is_shown_with_a_way_to_its_page(admin_client: Client) -> None:
    run = seeding.run("order-1")

    response = admin_client.get(address("flowrun", "change", run.pk))

    page = response.content.decode()
    assert f"/sagas/instances/order-1/runs/{run.pk}/" in page
    assert 'name="_save"' not in page


def test_nothing_is_deleted_or_changed(admin_client: Client) -> None:
    run = seeding.run("order-1")

    deleted = admin_client.post(address("flowrun", "delete", run.pk), {"post": "yes"})
    changed = admin_client.post(address("flowrun", "change", run.pk), {"status": "x"})

    assert (deleted.status_code, changed.status_code) == (403, 403)


def test_staff_without_the_permission_see_no_run(client: Client) -> None:
    client.force_login(User.objects.create_user("ann", is_staff=True))

    assert client.get(address("flowrun")).status_code == 403


@pytest.mark.parametrize("model", ["flowrun", "actionrun", "flowevent"])
def test_statements_are_as_many_for_one_row_as_for_a_page(
    admin_client: Client, model: str
) -> None:
    def make(number: int) -> None:
        run = seeding.run(f"order-{number}")
        seeding.step(run)
        seeding.line(run, 1)

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(address(model))
        return len(captured)

    make(0)
    first = statements()
    for number in range(1, 60):
        make(number)

    assert first == statements()
    assert first <= 6


def test_a_list_loads_no_payload(admin_client: Client) -> None:
    seeding.run("order-1")

    with CaptureQueriesContext(connection) as captured:
        admin_client.get(address("flowrun"))

    assert not [each for each in captured if '"arguments"' in each["sql"]]


def test_a_search_takes_a_whole_instance_id(admin_client: Client) -> None:
    seeding.run("order-1")
    seeding.run("order-11")

    page = admin_client.get(address("flowrun"), {"q": "order-1"}).content.decode()

    assert "order-11" not in page
    assert page.count('<th class="field-instance_id">') == 1


def test_every_model_is_registered() -> None:
    registered = {model._meta.model_name for model in admin.site._registry}

    assert set(MODELS) <= registered

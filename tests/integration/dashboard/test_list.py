"""The list of runs."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.presenters.lists import VIEWS
from saga_flow.states import CompensationStatus, FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db


def shown(client: Client, place: str = "/sagas/runs/") -> str:
    response = client.get(place)
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def instances(page: str) -> list[str]:
    return re.findall(r"<bdi>(order-\d+)</bdi></a>", page)


def test_the_root_leads_to_the_list(admin_client: Client) -> None:
    assert admin_client.get("/sagas/")["Location"] == "/sagas/runs/"


def test_no_run_yet_says_how_to_start_one(admin_client: Client) -> None:
    page = shown(admin_client)

    assert "No run yet" in page
    assert "saga_start" in page
    assert "qcluster" in page


def test_no_match_offers_to_clear_the_filter(admin_client: Client) -> None:
    seeding.run()

    page = shown(admin_client, "/sagas/runs/?workflow=none")

    assert "No run matches" in page
    assert "Clear the filter" in page


def test_an_empty_list_says_what_would_be_in_it(admin_client: Client) -> None:
    assert "No run is in this list" in shown(admin_client, "/sagas/runs/failed/")


@pytest.mark.parametrize("view", [view for view in VIEWS if view])
def test_each_list_shows_its_own_runs(admin_client: Client, view: str) -> None:
    for number, status in enumerate(FlowStatus):
        seeding.run(f"order-{number}", status=status)

    page = shown(admin_client, f"/sagas/runs/{view}/")

    expected = {"running": 5}.get(view, 1)
    assert len(instances(page)) == expected
    assert f"{expected} run" in page


@pytest.mark.parametrize("status", FlowStatus)
def test_every_status_has_a_word_a_colour_and_an_icon(
    admin_client: Client, status: FlowStatus
) -> None:
    seeding.run("order-1", status=status)

    page = shown(admin_client)

    assert re.search(
        rf'<span class="badge look-{status}"><svg aria-hidden="true">'
        rf'<use href="[^"]*icons.svg#{status}"></use></svg>{status.label}</span>',
        page,
    )


def test_the_list_is_walked_by_its_links(admin_client: Client) -> None:
    for number in range(120):
        seeding.run(f"order-{number}")
    seen: list[str] = []
    place = "/sagas/runs/?workflow=shop.checkout"

    while place:
        page = shown(admin_client, place)
        seen += instances(page)
        link = re.search(r'rel="next" href="([^"]+)"', page)
        place = "/sagas/runs/" + link[1].replace("&amp;", "&") if link else ""

    assert sorted(seen) == sorted(f"order-{number}" for number in range(120))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?statsu=failed", "Did you mean &#x27;status&#x27;?"),
        ("?status=faild", "Did you mean &#x27;failed&#x27;?"),
        ("?statsu=", "There is no filter"),
        ("?cursor=forged", "This cursor was not made here"),
        ("?tag=team", "is not a label"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(
    admin_client: Client, query: str, told: str
) -> None:
    response = admin_client.get(f"/sagas/runs/{query}")

    assert response.status_code == 400
    assert told in response.content.decode()


def test_a_list_takes_no_second_word_on_what_it_lists(admin_client: Client) -> None:
    assert admin_client.get("/sagas/runs/failed/?status=waiting").status_code == 400
    assert admin_client.get("/sagas/runs/nonsense/").status_code == 404


def test_empty_fields_of_the_form_ask_for_nothing(admin_client: Client) -> None:
    seeding.run("order-1")

    page = shown(admin_client, "/sagas/runs/?status=&workflow=&instance_id=&tag=")

    assert instances(page) == ["order-1"]


def test_filters_narrow_the_list_and_can_be_taken_off(admin_client: Client) -> None:
    seeding.run("order-1", tags={"team": "a"})
    seeding.run("order-2", tags={"team": "b"})

    page = shown(admin_client, "/sagas/runs/?status=waiting&tag=team%3Da")

    assert instances(page) == ["order-1"]
    assert 'href="?status=waiting"' in page
    assert 'value="team=a"' in page


def test_a_second_tag_survives_another_use_of_the_form(admin_client: Client) -> None:
    seeding.run("order-1", tags={"team": "a", "channel": "web"})

    page = shown(admin_client, "/sagas/runs/?tag=team%3Da&tag=channel%3Dweb")

    assert instances(page) == ["order-1"]
    assert re.findall(r'name="tag" value="([^"]*)"', page) == ["team=a", "channel=web"]


def test_a_row_tells_how_far_it_is_undone(admin_client: Client) -> None:
    run = seeding.run("order-1", status=FlowStatus.FAILED, compensation_state="failed")
    seeding.undo(run, 0)
    seeding.undo(run, 1, order=1, status=CompensationStatus.FAILED)

    assert "1 of 2 undone, 1 failed" in shown(admin_client)


def test_times_are_shown_in_the_zone_that_is_printed(
    admin_client: Client, settings: object
) -> None:
    seeding.run("order-1")
    settings.TIME_ZONE = "Asia/Tokyo"  # type: ignore[attr-defined]

    page = shown(admin_client)

    assert "Times in Asia/Tokyo" in page
    assert '2026-03-01 <span class="clock">21:00:00</span>' in page
    assert 'datetime="2026-03-01T21:00:00+09:00"' in page


def test_statements_are_as_many_for_one_run_as_for_a_full_page(
    admin_client: Client,
) -> None:
    owner = seeding.worker()

    def make(number: int) -> None:
        run = seeding.run(
            f"order-{number}",
            status=FlowStatus.RUNNING,
            lease_owner=owner.pk,
            tags={"team": "a"},
            created_at=seeding.START + timedelta(seconds=number),
        )
        seeding.undo(run)

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(admin_client)
        return len(captured)

    make(0)
    first = statements()
    for number in range(1, 100):
        make(number)

    # Five of ours (page, workers, undos, tags, count) and two for the session.
    assert (first, statements()) == (7, 7)


@pytest.mark.parametrize("text", ["order-1", "{run}"])
def test_find_goes_to_the_run(admin_client: Client, text: str) -> None:
    run = seeding.run("order-1")

    response = admin_client.get("/sagas/find/", {"q": text.format(run=run.pk)})

    assert response["Location"] == f"/sagas/instances/order-1/runs/{run.pk}/"


def test_find_says_what_it_did_not_find(admin_client: Client) -> None:
    response = admin_client.get("/sagas/find/", {"q": "<b>nope"})

    assert response.status_code == 404
    assert "&lt;b&gt;nope" in response.content.decode()


def test_the_theme_is_kept_and_leads_back(admin_client: Client) -> None:
    response = admin_client.post(
        "/sagas/theme/", {"theme": "dark", "next": "/sagas/runs/failed/"}
    )

    assert response["Location"] == "/sagas/runs/failed/"
    assert 'data-theme="dark"' in shown(admin_client)


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example", ""])
def test_the_theme_leads_to_no_other_site(admin_client: Client, there: str) -> None:
    response = admin_client.post("/sagas/theme/", {"theme": "light", "next": there})

    assert response["Location"] == "/sagas/runs/"


def test_an_unknown_theme_is_refused(admin_client: Client) -> None:
    assert admin_client.post("/sagas/theme/", {"theme": "pink"}).status_code == 400

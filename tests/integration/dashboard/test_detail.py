"""One run and one step."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.views.detail import TABS
from saga_flow.models import FlowRun
from saga_flow.states import ActionStatus, CompensationStatus, FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e\x00'[:-1]


def place(run: FlowRun, rest: str = "") -> str:
    return f"/sagas/instances/{run.instance_id}/runs/{run.pk}/{rest}"


def shown(client: Client, run: FlowRun, rest: str = "") -> str:
    response = client.get(place(run, rest))
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def test_an_instance_leads_to_its_current_run(admin_client: Client) -> None:
    seeding.run("order-1", status=FlowStatus.FAILED, is_current=None)
    current = seeding.run("order-1", run_number=2)

    response = admin_client.get("/sagas/instances/order-1/")

    assert response["Location"] == place(current)


def test_an_earlier_run_says_so(admin_client: Client) -> None:
    earlier = seeding.run("order-1", status=FlowStatus.FAILED, is_current=None)

    assert "This is an earlier run" in shown(admin_client, earlier)


@pytest.mark.parametrize(
    "wrong",
    [
        "/sagas/instances/order-2/",
        "/sagas/instances/order-2/runs/{run}/",
        "/sagas/instances/order-1/runs/00000000-0000-7000-8000-000000000000/",
        "/sagas/instances/order-1/runs/{run}/steps/7/",
    ],
)
def test_what_is_not_there_is_a_page_of_its_own(
    admin_client: Client, wrong: str
) -> None:
    run = seeding.run("order-1")

    response = admin_client.get(wrong.format(run=run.pk))

    assert response.status_code == 404
    assert "All runs" in response.content.decode()


@pytest.mark.parametrize("query", ["?tab=nope", "?after=x", "?tab=journal&before=x"])
def test_an_address_that_makes_no_sense_is_refused(
    admin_client: Client, query: str
) -> None:
    assert admin_client.get(place(seeding.run(), query)).status_code == 400


def test_a_step_stands_beside_its_undo(admin_client: Client) -> None:
    run = seeding.run("order-1", status=FlowStatus.FAILED, error=seeding.failure())
    seeding.step(run, 0, name="charge", undo_name="refund")
    seeding.step(run, 1, name="reserve", undo_name="release")
    seeding.step(run, 2, name="ship", status=ActionStatus.FAILED)
    seeding.undo(
        run,
        1,
        name="release",
        status=CompensationStatus.FAILED,
        error=seeding.failure("StockLocked"),
    )

    page = shown(admin_client, run)
    rows = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)[1:]

    assert "would be undone by <bdi>refund</bdi>" in rows[0]
    assert "StockLocked" in rows[1]
    assert "no undo declared" in rows[2]
    assert "2 of 3 steps completed" in page


def test_a_failure_folds_its_traceback(admin_client: Client) -> None:
    run = seeding.run("order-1", status=FlowStatus.FAILED, error=seeding.failure())

    page = shown(admin_client, run)

    assert "<strong><bdi>CardDeclined</bdi></strong>" in page
    assert "<summary>Traceback</summary>" in page


def test_a_lost_worker_is_told(admin_client: Client) -> None:
    run = seeding.run("order-1", status=FlowStatus.RUNNING)

    assert "Its worker was lost" in shown(admin_client, run)


def test_steps_are_paged(admin_client: Client) -> None:
    run = seeding.run()
    for sequence in range(101):
        seeding.step(run, sequence, name=f"step-{sequence}")

    first = shown(admin_client, run)
    second = shown(admin_client, run, "?after=99")

    assert 'href="?after=99"' in first
    assert "step-100<" not in first
    assert "step-100<" in second


def test_the_journal_is_paged_newest_first(admin_client: Client) -> None:
    run = seeding.run()
    for sequence in range(1, 152):
        seeding.line(run, sequence, type=f"line.{sequence}")

    first = shown(admin_client, run, "?tab=journal")
    second = shown(admin_client, run, "?tab=journal&before=52")

    assert first.index("line.151<") < first.index("line.52<")
    assert "before=52" in first
    assert "line.51<" in second


def test_a_big_payload_is_cut(admin_client: Client) -> None:
    run = seeding.run(arguments='{"args":["' + "x" * 200_000 + '"],"kwargs":{}}')

    page = shown(admin_client, run, "?tab=data")

    assert "Only the first 64 KiB are shown." in page
    assert len(page) < 100_000


def test_a_step_page_shows_attempts_and_payloads(admin_client: Client) -> None:
    run = seeding.run()
    seeding.step(run, 0, arguments='{"args":[7],"kwargs":{}}', result='"ok"', attempt=2)
    run.attempts.create(
        sequence=0,
        attempt=1,
        outcome="lost",
        error=seeding.failure("Gone"),
        closed_at=seeding.START,
    )

    page = shown(admin_client, run, "steps/0/")

    assert "Gone: insufficient funds" in page
    assert "&quot;ok&quot;" in page


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_helps_when_it_is_empty(admin_client: Client, tab: str) -> None:
    run = seeding.run(status=FlowStatus.RESERVED)

    assert 'class="calm"' in shown(admin_client, run, f"?tab={tab}")


@pytest.mark.parametrize("tab", TABS)
def test_statements_are_as_many_for_one_row_as_for_a_hundred(
    admin_client: Client, tab: str
) -> None:
    run = seeding.run(status=FlowStatus.RUNNING, lease_owner=seeding.worker().pk)

    def make(number: int) -> None:
        seeding.step(run, number, undo_name="refund")
        seeding.undo(run, number, order=number)
        seeding.line(run, number + 1)
        run.signals.create(
            name="go", status="waiting", sequence=number, created_at=seeding.START
        )
        run.commands.create(
            type="signal",
            instance_id="order-1",
            status="accepted",
            outcome="x",
            created_at=seeding.START,
        )

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(admin_client, run, f"?tab={tab}")
        return len(captured)

    make(0)
    first = statements()
    for number in range(1, 100):
        make(number)

    assert first == statements()
    assert first <= 10


class Elements(HTMLParser):
    """Collects what would run or load: scripts, images, handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        inline = [name for name in names if name.startswith("on") or name == "style"]
        if inline or tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(tag)
        if tag == "img" and dict(attrs).get("src") == "x":
            self.found.append(tag)
        here = dict(attrs).get("href") or ""
        if here.lower().startswith(("javascript:", "http:", "https:", "//")):
            self.found.append(here)


@pytest.mark.parametrize(
    "rest", ["", *(f"?tab={tab}" for tab in TABS), "steps/0/", "actions/signal/"]
)
def test_hostile_text_is_inert(admin_client: Client, rest: str) -> None:
    error = seeding.failure(HOSTILE.replace("\\", ""), HOSTILE)
    run = seeding.run(
        "order-1",
        workflow_name=HOSTILE,
        wait_reason=HOSTILE,
        wait_kind="signal",
        wait_name=HOSTILE,
        queue=HOSTILE,
        reason=HOSTILE,
        last_error=HOSTILE,
        error=error,
        business_key=HOSTILE,
        tags={HOSTILE[:60]: HOSTILE},
        arguments=error,
        memo=error,
    )
    step = seeding.step(run, 0, name=HOSTILE, error=error, undo_name=HOSTILE)
    seeding.undo(run, step.sequence, name=HOSTILE, error=error, handled_by=HOSTILE)
    seeding.line(run, 1, type=HOSTILE[:48], actor=HOSTILE, data=error)
    run.signals.create(name=HOSTILE, status="waiting", created_at=seeding.START)
    run.commands.create(
        type="signal",
        instance_id="order-1",
        status="rejected",
        outcome="x",
        message=HOSTILE,
        principal_label=HOSTILE,
        reason=HOSTILE,
        created_at=seeding.START,
    )
    elements = Elements()

    elements.feed(shown(admin_client, run, rest))

    assert elements.found == []

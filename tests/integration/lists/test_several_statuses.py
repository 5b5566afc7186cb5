"""Lists over several statuses: one order, one statement, and an index for each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from saga_flow.models import FlowRun
from saga_flow.queries import runs
from saga_flow.queries.filters import flow_filter
from saga_flow.states import TERMINAL, FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db

BY_STATUS: Final = "saga_flow_run_by_status"
WHOLE: Final = ("SCAN saga_flow_run", "Seq Scan on saga_flow_run", "'ALL'")
"""How SQLite, PostgreSQL and MariaDB say that they read all runs."""

MERGED: dict[str, Any] = {
    "status_bucket": "failed",
    "status": ["expired", "failed", "completed"],
    "signalable": True,
}


@pytest.mark.covers("D-HANDLE-6")
@pytest.mark.parametrize("name", MERGED)
def test_several_statuses_are_walked_in_one_order(name: str) -> None:
    wanted = flow_filter({name: MERGED[name]})
    for n in range(66):
        status = list(FlowStatus)[n % len(FlowStatus)]
        at = seeding.START + timedelta(hours=n // 30)
        seeding.run(f"order-{n}", status=status, created_at=at)
    rows = FlowRun.objects.filter(status__in=wanted.statuses)
    ordered = list(rows.order_by("-sort_at", "-id").values_list("pk", flat=True))
    seen: list[Any] = []
    cursor: str | None = None

    while True:
        page = runs.page(wanted, cursor, size=4)
        seen += [item.run_id for item in page.items]
        seeding.run(
            f"late-{len(seen)}", status=FlowStatus.FAILED, created_at=seeding.LATER
        )
        cursor = page.next_cursor
        if cursor is None:
            break

    assert len(ordered) > 8
    assert seen == ordered


def test_several_statuses_are_read_in_one_statement() -> None:
    # between two, a run could change its status and be in neither
    seeding.run(status=FlowStatus.WAITING)

    with CaptureQueriesContext(connection) as captured:
        runs.page(flow_filter({"status_bucket": "running"}))

    assert len(captured) == 1


def test_statuses_that_exclude_each_other_mean_no_run() -> None:
    seeding.run(status=FlowStatus.FAILED)
    wanted = flow_filter({"status": "failed", "signalable": True})

    assert runs.page(wanted).items == ()
    assert runs.count(wanted) == 0


def _plan(sql: str, values: Any) -> str:
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}", values)
        # MariaDB says of a subselect's own few rows, too, that they are read whole
        rows = [row for row in map(str, cursor.fetchall()) if "'<" not in row]
    return "\n".join(rows)


def _many() -> None:
    """Enough runs for a planner to care, few of them in most statuses."""
    rare = [status for status in FlowStatus if status is not FlowStatus.COMPLETED]
    made = []
    for n in range(2_000):
        status = FlowStatus.COMPLETED if n % 40 else rare[n // 40 % len(rare)]
        moment = seeding.START + timedelta(minutes=n)
        run = FlowRun(instance_id=f"order-{n}", status=status, closing_as="failed")
        run.sort_at = run.created_at = run.updated_at = moment
        run.closed_at = moment if status in TERMINAL else None
        made.append(run)
    FlowRun.objects.bulk_create(made, batch_size=1_000)
    if connection.vendor != "mysql":  # where it would commit, and is not needed
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def test_the_newest_of_each_status_are_found_by_an_index() -> None:
    _many()
    wanted = flow_filter({"status_bucket": "failed"})
    cursor = runs.page(wanted, size=5).next_cursor
    plans: list[str] = []

    def explained(call: Any, sql: str, values: Any, *rest: Any) -> Any:
        if sql.startswith("SELECT"):
            plans.append(_plan(sql, values))
        return call(sql, values, *rest)

    with connection.execute_wrapper(explained):
        runs.page(wanted, cursor, size=5)

    [plan] = plans
    found = [line for line in plan.splitlines() if BY_STATUS in line]
    assert len(found) == len(wanted.statuses), plan
    assert [each for each in WHOLE if each in plan] == [], plan

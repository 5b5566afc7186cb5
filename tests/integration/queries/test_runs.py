"""Lists of runs: paged by keyset, filtered, counted up to a cap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from saga_flow.exceptions import InvalidCursor, InvalidFilter
from saga_flow.queries import runs
from saga_flow.queries.filters import FlowFilter, flow_filter
from saga_flow.states import FlowStatus, SignalStatus, WorkerStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db

EVERYTHING = FlowFilter()


def test_a_walk_over_equal_times_loses_and_repeats_nothing() -> None:
    wanted = {seeding.run(f"order-{n}").pk for n in range(53)}
    seen: list[Any] = []
    cursor: str | None = None

    while True:
        page = runs.page(EVERYTHING, cursor, size=5)
        seen += [item.run_id for item in page.items]
        # Newer runs that arrive meanwhile must not move what is left.
        seeding.run(f"late-{len(seen)}", created_at=seeding.START + timedelta(hours=1))
        cursor = page.next_cursor
        if cursor is None:
            break

    assert len(seen) == len(set(seen))
    assert set(seen) == wanted


def test_the_newest_come_first() -> None:
    for hours in (2, 1, 3):
        seeding.run(f"order-{hours}", created_at=seeding.START + timedelta(hours=hours))

    names = [item.instance_id for item in runs.page(EVERYTHING).items]

    assert names == ["order-3", "order-2", "order-1"]


@pytest.mark.parametrize("count", [4, 5])
def test_a_full_last_page_has_no_next(count: int) -> None:
    for n in range(count):
        seeding.run(f"order-{n}")

    assert (runs.page(EVERYTHING, size=4).next_cursor is None) == (count == 4)


def test_a_cursor_of_another_filter_is_refused() -> None:
    for n in range(2):
        seeding.run(f"order-{n}")
    cursor = runs.page(EVERYTHING, size=1).next_cursor

    with pytest.raises(InvalidCursor):
        runs.page(flow_filter({"status": "waiting"}), cursor)


@pytest.mark.covers("LR-11")
@pytest.mark.parametrize("size", [0, 201, True, None, "50"])
def test_a_page_size_out_of_range_is_refused(size: Any) -> None:
    with pytest.raises(InvalidFilter, match="1 to 200"):
        runs.page(EVERYTHING, size=size)


def test_iterate_walks_every_page() -> None:
    for n in range(7):
        seeding.run(f"order-{n}")

    assert len({item.run_id for item in runs.iterate(EVERYTHING, size=2)}) == 7


@pytest.mark.parametrize(("cap", "counted"), [(10, 3), (3, 3), (2, 3), (1, 2)])
def test_a_count_stops_one_over_its_cap(cap: int, counted: int) -> None:
    for n in range(3):
        seeding.run(f"order-{n}")

    assert runs.count(EVERYTHING, cap=cap) == counted


def test_a_count_without_a_cap_is_exact() -> None:
    for n in range(3):
        seeding.run(f"order-{n}")

    assert runs.count(EVERYTHING) == 3


def test_first_is_the_newest_or_none() -> None:
    seeding.run("order-1")

    assert (found := runs.first(EVERYTHING)) is not None
    assert found.instance_id == "order-1"
    assert runs.first(flow_filter({"instance_id": "none"})) is None


FIELDS: dict[str, dict[str, Any]] = {
    "status": {"status": FlowStatus.FAILED},
    "workflow": {"workflow_name": "failed"},
    "version": {"workflow_version": "failed"},
    "queue": {"queue": "failed"},
    "tenant": {"tenant": "failed"},
    "business_key": {"business_key": "failed"},
    "wait_kind": {"wait_kind": "failed"},
    "compensation_state": {"compensation_state": "failed"},
    "status_bucket": {"status": FlowStatus.TERMINATED},
    "closed_reason": {"status": FlowStatus.FAILED},
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_filter_finds_its_runs_only(name: str) -> None:
    seeding.run("other")
    seeding.run("wanted", **FIELDS[name])

    found = runs.page(flow_filter({name: "failed"})).items

    assert [item.instance_id for item in found] == ["wanted"]


@pytest.mark.parametrize("few", [0, 500], ids=["common", "rare"])
def test_all_tags_must_match(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "FEW", few)
    seeding.run("both", tags={"team": "a", "channel": "web"})
    seeding.run("one", tags={"team": "a", "channel": "app"})

    found = runs.page(flow_filter({"tag": ["team=a", "channel=web"]})).items

    assert [item.instance_id for item in found] == ["both"]


def test_awaiting_signal_finds_open_waits_only() -> None:
    for n, status in enumerate(SignalStatus):
        run = seeding.run(status.value)
        run.signals.create(
            name="approval", status=status, sequence=n, created_at=seeding.START
        )

    found = runs.page(flow_filter({"awaiting_signal": "approval"})).items

    assert [item.instance_id for item in found] == ["waiting"]


def test_signalable_follows_the_statuses() -> None:
    for status in FlowStatus:
        seeding.run(status.value, status=status)

    found = {item.status for item in runs.page(flow_filter({"signalable": True})).items}

    assert found == FlowStatus.signalable()


def test_stuck_finds_what_nothing_would_ever_wake() -> None:
    waits = seeding.run("waits")
    waits.signals.create(
        name="paid", status=SignalStatus.WAITING, sequence=0, created_at=seeding.START
    )
    seeding.run("due", wake_at=seeding.START)
    owner = seeding.worker()
    seeding.run("held", status=FlowStatus.RUNNING, lease_owner=owner.pk)
    seeding.run("closed", status=FlowStatus.COMPLETED)
    seeding.run("held-out", status=FlowStatus.INTERRUPTED)
    seeding.run("forgotten")
    seeding.run("dropped", status=FlowStatus.RUNNING)

    found = {item.instance_id for item in runs.page(flow_filter({"stuck": True})).items}

    assert found == {"forgotten", "dropped"}
    assert runs.count(flow_filter({"stuck": True, "status": "waiting"})) == 1


@pytest.mark.parametrize(
    ("archived", "names"),
    [(None, {"kept"}), ("true", {"put-away"}), ("any", {"kept", "put-away"})],
)
def test_archived_runs_are_left_out_unless_asked_for(
    archived: str | None, names: set[str]
) -> None:
    seeding.run("kept")
    seeding.run("put-away", status=FlowStatus.FAILED, archived_at=seeding.START)

    found = runs.page(flow_filter({"archived": archived})).items

    assert {item.instance_id for item in found} == names


def test_times_are_half_open() -> None:
    for hours in range(3):
        seeding.run(f"order-{hours}", created_at=seeding.START + timedelta(hours=hours))
    window = flow_filter(
        {
            "created_after": seeding.START,
            "created_before": seeding.START + timedelta(hours=2),
        }
    )

    names = {item.instance_id for item in runs.page(window).items}

    assert names == {"order-0", "order-1"}


def test_an_empty_set_of_ids_means_no_run() -> None:
    seeding.run()

    assert runs.page(flow_filter({"ids": []})).items == ()


def test_a_page_takes_two_statements_however_long_it_is() -> None:
    owner = seeding.worker()

    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            runs.page(EVERYTHING, size=100)
        return len(captured)

    seeding.run("order-0", status=FlowStatus.RUNNING, lease_owner=owner.pk)
    first = statements()
    for n in range(1, 100):
        seeding.run(f"order-{n}", status=FlowStatus.RUNNING, lease_owner=owner.pk)

    assert (first, statements()) == (2, 2)


@pytest.mark.parametrize(
    ("status", "lost"),
    [
        (WorkerStatus.ALIVE, False),
        (WorkerStatus.DRAINING, False),
        (WorkerStatus.LOST, True),
        (WorkerStatus.GONE, True),
        (None, True),
    ],
)
def test_a_lease_is_lost_with_its_worker(
    status: WorkerStatus | None, *, lost: bool
) -> None:
    owner = None if status is None else seeding.worker(status).pk
    seeding.run(status=FlowStatus.RUNNING, lease_owner=owner)

    assert runs.page(EVERYTHING).items[0].lease_lost is lost


def test_only_a_running_run_can_have_lost_its_lease() -> None:
    seeding.run(status=FlowStatus.CANCELLING)

    assert runs.page(EVERYTHING).items[0].lease_lost is False


def test_a_list_carries_no_results() -> None:
    seeding.run(status=FlowStatus.COMPLETED, result='"big"')

    assert runs.page(EVERYTHING).items[0].result is None

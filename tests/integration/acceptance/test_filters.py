"""Lists of runs as authors ask for them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import MultipleObjectsReturned

from saga_flow import FlowStatus, RunCancelled, RunNotFound, Workflow, flows
from saga_flow.authoring.selection import Selection
from saga_flow.exceptions import InvalidCursor, InvalidFilter
from tests.support import seeding

pytestmark = pytest.mark.django_db


def _parcel() -> type[Workflow]:
    class Parcel(Workflow):
        class Meta:
            name = "acceptance.parcel"

        def handle(self) -> str:
            return self.signal("address", str).wait()

    return Parcel


def _letter() -> type[Workflow]:
    class Letter(Workflow):
        class Meta:
            name = "acceptance.letter"

        def handle(self) -> str:
            return "posted"

    return Letter


def names(selection: Selection) -> list[str]:
    return [handle.instance_id for handle in selection.handles()]


@pytest.mark.covers("M-QRY-1")
def test_runs_are_filtered_by_status() -> None:
    parcel, letter = _parcel(), _letter()
    parcel.using(instance_id="waits").run_sync()
    parcel.using(instance_id="pends").start()
    letter.using(instance_id="done").run_sync()

    assert names(flows.filter(status="waiting")) == ["waits"]
    assert names(flows.filter(status=FlowStatus.COMPLETED)) == ["done"]
    several = flows.filter(status=["waiting", "pending"])
    assert sorted(names(several)) == ["pends", "waits"]
    assert sorted(names(flows.filter(status_bucket="running"))) == ["pends", "waits"]


@pytest.mark.covers("M-QRY-2")
def test_signalable_means_pending_running_and_waiting() -> None:
    for status in FlowStatus:
        seeding.run(status.value, status=status)
    wanted = ["pending", "running", "waiting"]

    assert sorted(names(flows.filter().signalable())) == wanted
    assert sorted(names(flows.filter(signalable=True))) == wanted
    assert names(flows.filter(status=["failed", "waiting"]).signalable()) == ["waiting"]


@pytest.mark.covers("M-QRY-3")
def test_runs_are_filtered_by_workflow() -> None:
    parcel, letter = _parcel(), _letter()
    parcel.using(instance_id="parcel").start()
    letter.using(instance_id="letter").start()

    assert names(flows.filter(workflow=parcel)) == ["parcel"]
    assert names(flows.filter(workflow="acceptance.letter")) == ["letter"]


@pytest.mark.covers("M-QRY-4")
def test_runs_are_filtered_by_tag_key_and_value() -> None:
    letter = _letter()
    for team in ("oslo", "rome"):
        letter.using(instance_id=team, tags={"team": team, "kind": "letter"}).start()

    assert names(flows.filter(tag={"team": "oslo"})) == ["oslo"]
    assert names(flows.filter(tag={"team": "oslo", "kind": "letter"})) == ["oslo"]
    assert names(flows.filter(tag={"kind": "oslo"})) == []
    assert sorted(names(flows.filter(tag="kind=letter"))) == ["oslo", "rome"]


@pytest.mark.covers("M-QRY-5")
def test_conditions_must_all_hold() -> None:
    parcel, letter = _parcel(), _letter()
    parcel.using(instance_id="one", tags={"team": "oslo"}).run_sync()
    parcel.using(instance_id="two", tags={"team": "oslo"}).start()
    letter.using(instance_id="three", tags={"team": "oslo"}).run_sync()

    found = flows.filter(workflow=parcel, status="waiting", tag={"team": "oslo"})

    assert names(found) == ["one"]
    assert names(flows.filter(workflow=letter, status="waiting")) == []


@pytest.mark.covers("M-QRY-6")
def test_a_filter_gives_handles_and_pages() -> None:
    letter = _letter()
    made = [letter.using(instance_id=f"letter-{n}").start().run_id for n in range(5)]
    found = flows.filter(workflow=letter)

    assert sorted(handle.run_id for handle in found.handles()) == sorted(made)
    assert all(handle.is_pinned for handle in found.iterator())
    first = found.page(size=3)
    second = found.page(first.next_cursor, size=3)
    assert [len(page.items) for page in (first, second)] == [3, 2]
    assert second.next_cursor is None
    assert [each.run_id for each in (*first.items, *second.items)] == [
        handle.run_id for handle in found.handles()
    ]
    assert (found.count(), found.count(cap=3), found.count(cap=None)) == (5, 4, 5)
    with pytest.raises(MultipleObjectsReturned):
        found.get()
    assert flows.filter(instance_id="letter-3").get().run_id == made[3]


@pytest.mark.covers("M-QRY-7")
def test_runs_are_filtered_by_the_time_they_were_created() -> None:
    for hours in range(3):
        seeding.run(f"order-{hours}", created_at=seeding.START + timedelta(hours=hours))
    since, until = (seeding.START + timedelta(hours=hours) for hours in (1, 2))

    assert names(flows.filter(created_after=since)) == ["order-2", "order-1"]
    assert names(flows.filter(created_before=until)) == ["order-1", "order-0"]
    assert names(flows.filter(created_after=since, created_before=until)) == ["order-1"]


def test_runs_are_found_by_what_they_are_about() -> None:
    ada = User.objects.create(username="ada")
    _letter().using(instance_id="hers", subject=ada).start()
    _letter().using(instance_id="other").start()

    assert names(flows.filter(subject=ada)) == ["hers"]
    with pytest.raises(InvalidFilter, match="say the same thing"):
        flows.filter(subject=ada, business_key="x")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"statsu": "failed"}, "Did you mean 'status'"),
        ({"status": "faild"}, "Did you mean 'failed'"),
        ({"quue": "acme"}, "Did you mean 'queue'"),
        ({"archived": "no way"}, "true, false, any"),
    ],
)
def test_a_typo_never_means_everything(params: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidFilter, match=told):
        flows.filter(**params)


@pytest.mark.covers("LR-11")
@pytest.mark.covers("D-HANDLE-3")
def test_a_list_stays_within_its_tenant() -> None:
    for n in range(3):
        for tenant in ("acme", "other"):
            created = seeding.START + timedelta(seconds=n)
            seeding.run(f"{tenant}-{n}", tenant=tenant, created_at=created)
    ours = flows.filter(tenant="acme")

    assert names(ours) == ["acme-2", "acme-1", "acme-0"]
    assert ours.count() == 3
    with pytest.raises(RunNotFound):
        flows.load("acme-1", tenant="other")
    theirs = flows.filter(tenant="other").page(size=1).next_cursor
    for cursor in (theirs, "made-up", ""):
        with pytest.raises(InvalidCursor):
            ours.page(cursor)
    for size in (0, 201):
        with pytest.raises(InvalidFilter, match="1 to 200"):
            ours.page(size=size)


@pytest.mark.covers("D-HANDLE-5")
def test_there_is_no_output_before_the_end_and_cancelled_is_not_failed() -> None:
    handle = _parcel().using(instance_id="parcel").run_sync()
    assert handle.output() is None

    handle.cancel()
    handle.refresh()
    assert (handle.failed(), handle.cancelled()) == (False, True)
    with pytest.raises(RunCancelled):
        handle.output()

    done = _letter().using(instance_id="letter").run_sync()
    assert done.output() == "posted"

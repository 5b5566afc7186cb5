"""How a wake becomes a job, and that it never does harm on the way."""

from __future__ import annotations

import contextlib
import pydoc
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from saga_flow import clock, executors
from saga_flow.executors import django_q, inline, none
from saga_flow.records import Wake, Wanted
from saga_flow.store import outbox
from saga_flow.store.transaction import atomic


class Undone(Exception):
    """What undoes a transaction of these tests."""


DRIVE = Wake(kind=Wanted.DRIVE, id="7", queue="")


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    inline.clear()
    yield
    inline.clear()


def jobs() -> list[dict[str, Any]]:
    return [SignedPackage.loads(row.payload) for row in OrmQ.objects.order_by("pk")]


@pytest.mark.parametrize("kind", list(Wanted))
def test_every_job_can_be_found_by_its_name(kind: Wanted) -> None:
    assert callable(pydoc.locate(django_q.FUNCTIONS[kind]))


@pytest.mark.django_db
def test_a_job_carries_an_id_and_leaves_nothing_behind() -> None:
    django_q.wake(Wake(kind=Wanted.PERFORM, id="12", queue=""))

    [job] = jobs()
    assert (job["func"], job["args"], job["kwargs"]) == (
        "saga_flow.jobs.perform",
        ("12",),
        {},
    )
    assert (job["save"], job["ack_failure"]) == (False, True)
    assert not {"cluster", "chain", "group", "hook", "broker"} & job.keys()


@pytest.mark.django_db
def test_a_job_goes_to_the_runs_queue() -> None:
    django_q.wake(Wake(kind=Wanted.DRIVE, id="7", queue="slow"))

    assert OrmQ.objects.get().key == "slow"
    assert jobs()[0]["cluster"] == "slow"


@pytest.mark.django_db
def test_a_worker_of_another_queue_does_not_keep_what_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Conf, "CLUSTER_NAME", "slow")

    django_q.wake(DRIVE)

    assert OrmQ.objects.get().key == "saga_flow"


@pytest.mark.django_db
def test_the_settings_may_name_the_queue_of_runs_that_name_none() -> None:
    with override_settings(SAGA_FLOW={"QUEUE": "sagas"}):
        django_q.wake(DRIVE)

    assert OrmQ.objects.get().key == "sagas"


@pytest.mark.django_db
def test_a_job_is_part_of_the_transaction_that_made_it_due() -> None:
    with contextlib.suppress(Undone), atomic():
        django_q.wake(DRIVE)
        assert len(jobs()) == 1
        raise Undone

    assert jobs() == []


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_the_connection_survives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.ensure_connection()
    # What CONN_MAX_AGE = 0 amounts to: old as soon as it is there.
    monkeypatch.setattr(connection, "close_at", 0.0)
    before = connection.connection

    django_q.wake(DRIVE)

    assert connection.connection is before
    assert len(jobs()) == 1


@pytest.mark.django_db
def test_what_is_due_only_later_is_left_to_the_pulse(time: clock.FakeClock) -> None:
    later = clock.now() + timedelta(seconds=1)

    django_q.wake(Wake(kind=Wanted.PERFORM, id="1", queue="", not_before=later))

    assert jobs() == []


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the broker were no part of the engine's database."""
    monkeypatch.setattr(django_q, "shares_transaction", lambda: False)


@pytest.mark.django_db
def test_with_another_broker_a_job_follows_the_commit(
    elsewhere: None, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        with atomic():
            django_q.wake(DRIVE)
        assert jobs() == []
    for callback in callbacks:
        callback()

    assert len(jobs()) == 1


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_does_not_fail_the_commit(
    elsewhere: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away:
        list_key = "saga_flow"

        def enqueue(self, _: object) -> None:
            raise ConnectionError("no broker")

    monkeypatch.setattr(django_q, "_broker", lambda _: Away())

    with atomic():
        django_q.wake(DRIVE)

    assert "The sweeps will find it" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("elsewhere")
def test_a_transaction_that_is_rolled_back_leaves_no_job() -> None:
    with contextlib.suppress(Undone), atomic():
        django_q.wake(DRIVE)
        raise Undone

    assert jobs() == []


def test_the_orm_broker_on_the_engines_database_shares_its_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert django_q.shares_transaction()
    monkeypatch.setattr(Conf, "ORM", "another")
    assert not django_q.shares_transaction()


@pytest.mark.parametrize(
    ("name", "module"), [("django_q", django_q), ("inline", inline), ("none", none)]
)
def test_the_settings_choose_the_executor(
    monkeypatch: pytest.MonkeyPatch, name: str, module: Any
) -> None:
    monkeypatch.setattr(outbox, "_send", outbox._send)
    executors.bind()

    with override_settings(SAGA_FLOW={"EXECUTOR": name}):
        assert outbox._send is module.wake
    assert outbox._send is django_q.wake


def test_inline_does_what_was_collected_and_what_that_causes() -> None:
    done: list[str] = []

    def execute(wake: Wake) -> None:
        done.append(wake.id)
        if wake.id == "7":
            inline.wake(Wake(kind=Wanted.PERFORM, id="8", queue=""))

    inline.wake(DRIVE)
    inline.wake(DRIVE)

    assert inline.drain(execute) == 2
    assert done == ["7", "8"]
    assert inline.drain(execute) == 0


def test_inline_keeps_what_is_due_only_later(time: clock.FakeClock) -> None:
    done: list[Wake] = []
    later = Wake(
        kind=Wanted.DRIVE,
        id="7",
        queue="",
        not_before=clock.now() + timedelta(seconds=1),
    )
    inline.wake(later)

    assert inline.drain(done.append) == 0
    time.advance(timedelta(seconds=1))
    assert inline.drain(done.append) == 1


def test_none_tells_nobody() -> None:
    none.wake(DRIVE)

    assert inline.take() is None

"""Who leads, and when a sweep last ran."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from saga_flow import clock, ids
from saga_flow.models import Lease
from saga_flow.store import leases

pytestmark = pytest.mark.django_db

ME, OTHER = ids.uuid7(), ids.uuid7()


def test_the_first_to_ask_leads_and_may_renew(time: clock.FakeClock) -> None:
    assert leases.acquire("leader", ME)
    time.advance(timedelta(seconds=5))
    assert leases.acquire("leader", ME)
    assert Lease.objects.get(name="leader").until == clock.now() + leases.TERM
    assert leases.leader() == ME


def test_another_is_refused_and_writes_nothing(time: clock.FakeClock) -> None:
    leases.acquire("leader", ME)
    time.advance(timedelta(seconds=11))

    with CaptureQueriesContext(connection) as queries:
        assert not leases.acquire("leader", OTHER)

    assert all(query["sql"].startswith("SELECT") for query in queries)
    assert Lease.objects.get(name="leader").owner == ME


def test_a_lease_not_renewed_goes_to_the_next(time: clock.FakeClock) -> None:
    leases.acquire("leader", ME)
    time.advance(leases.TERM + timedelta(seconds=1))

    assert leases.leader() is None
    assert leases.acquire("leader", OTHER)
    assert not leases.acquire("leader", ME)


def test_a_renewal_that_comes_too_late_is_refused(
    time: clock.FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases.acquire("leader", ME)
    time.advance(leases.TERM + timedelta(seconds=1))
    leases.acquire("leader", OTHER)
    real = leases._to_be_had
    looks = iter((Q(), real(ME)))
    # As if the look before the write had still shown the lapsed lease.
    monkeypatch.setattr(leases, "_to_be_had", lambda _: next(looks))

    assert not leases.acquire("leader", ME)
    assert Lease.objects.get(name="leader").owner == OTHER


def test_given_up_is_to_be_had_at_once(time: clock.FakeClock) -> None:
    leases.acquire("leader", ME)

    assert not leases.give_up("leader", OTHER)
    assert leases.give_up("leader", ME)
    time.advance(timedelta(microseconds=1))
    assert leases.acquire("leader", OTHER)


def test_a_row_inserted_by_another_meanwhile_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Lease.objects.create(name="leader", owner=OTHER, until=clock.now())

    assert not leases._insert("leader", ME)
    assert Lease.objects.get(name="leader").owner == OTHER


def test_what_a_sweep_reported_is_kept(time: clock.FakeClock) -> None:
    leases.record("doctor", {"counts": {"runs": 1}})
    time.advance(timedelta(seconds=60))
    leases.record("doctor", {"counts": {"runs": 0}})

    [ran] = leases.ran()
    assert (ran.name, ran.ran_at) == ("doctor", clock.now())
    assert ran.report == {"counts": {"runs": 0}}

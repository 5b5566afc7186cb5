"""An instance id that is held, given up, used again; and a run that is put off."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from saga_flow import Duplicate, DuplicateInstance, RunNotFound, flows, jobs
from saga_flow.models import FlowEvent, FlowTag
from saga_flow.testing import drain, fake_clock

pytestmark = pytest.mark.django_db


def test_a_reservation_that_is_given_up_leaves_its_id_and_nothing_else(
    order: Any,
) -> None:
    one = order.using(instance_id="one", tags={"team": "a"})
    held = one.reserve()
    assert (held.status, flows.load("one").run_id) == ("reserved", held.run_id)

    flows.release("one")

    with pytest.raises(RunNotFound):
        flows.load("one")
    assert not FlowTag.objects.exists()
    assert not FlowEvent.objects.exists()
    again = one.start()
    assert (again.status, again.run_number) == ("pending", 1)
    assert again.run_id != held.run_id


@pytest.mark.parametrize("policy", list(Duplicate))
def test_an_id_that_is_held_is_not_held_again(order: Any, policy: Duplicate) -> None:
    one = order.using(instance_id="one", on_duplicate=policy)
    held = one.reserve()

    with pytest.raises(DuplicateInstance):
        one.reserve()

    started = one.start()
    assert (started.run_id, started.status) == (held.run_id, "pending")


def test_a_closed_run_is_followed_by_another_and_an_open_one_is_not(
    order: Any,
) -> None:
    one = order.using(instance_id="one", on_duplicate=Duplicate.ALLOW_AFTER_CLOSED)
    handle = one.start()
    with pytest.raises(DuplicateInstance, match="is pending"):
        one.start()
    handle.cancel()
    first = flows.load_run(handle.run_id)

    second = one.start()

    assert (second.status, second.run_number) == ("pending", 2)
    assert second.run_id != first.run_id
    assert handle.refresh().run_id == flows.load("one").run_id == second.run_id
    assert first.refresh().status == "cancelled"


def test_a_start_that_is_put_off_is_taken_up_no_earlier(order: Any) -> None:
    with fake_clock() as clock:
        handle = order.using(run_after=timedelta(hours=1)).start()
        jobs.drive(str(handle.run_id))
        clock.advance(timedelta(minutes=59))
        drain()
        assert handle.refresh().status == "pending"
        clock.advance(timedelta(minutes=1))

        drain()

    assert handle.refresh().status == "waiting"

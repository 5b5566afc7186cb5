"""What a start has to do with the transactions of its caller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction

from saga_flow import ObservationTimeout, RunNotCommitted, RunNotFound, flows
from saga_flow.models import FlowRun

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = timedelta()
WAITS: dict[str, Callable[[Any], object]] = {
    "result": lambda handle: handle.result(timeout=AT_ONCE),
    "wait": lambda handle: handle.wait(timeout=AT_ONCE),
}


class TakenBack(Exception):
    """What a caller raises to roll back."""


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "saga_flow.client"
    ]


def test_a_transaction_on_another_alias_is_not_joined_and_a_warning_says_so(
    order: Any, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    def begin() -> None:
        with transaction.atomic(using=elsewhere):
            order.using(instance_id="one").start()
            raise TakenBack

    with pytest.raises(TakenBack):
        begin()

    run = FlowRun.objects.get(instance_id="one")
    [told] = _warnings(caplog)
    assert str(run.pk) in told
    assert "a transaction on 'elsewhere', which it does not join" in told
    assert "on_commit(..., using='elsewhere')" in told


def test_neither_is_one_that_a_connection_without_autocommit_has_open(
    order: Any, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    connections[elsewhere].set_autocommit(False)

    order.using(instance_id="one").reserve()

    connections[elsewhere].rollback()
    assert FlowRun.objects.filter(instance_id="one").exists()
    [told] = _warnings(caplog)
    assert "'elsewhere'" in told


def test_there_is_no_warning_where_the_start_can_be_taken_back(
    order: Any, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    order.using(instance_id="outside").start()
    with transaction.atomic():
        order.using(instance_id="here").start()
    with transaction.atomic(using=elsewhere), transaction.atomic():
        order.using(instance_id="both").start()

    assert FlowRun.objects.count() == 3
    assert _warnings(caplog) == []


def test_the_block_that_a_test_case_opens_elsewhere_is_nobodys_transaction(
    order: Any, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    block: Any = transaction.atomic(using=elsewhere)
    block._from_testcase = True

    with block:
        order.start()

    assert _warnings(caplog) == []


def test_a_database_that_is_not_in_use_is_not_asked(order: Any, elsewhere: str) -> None:
    connections[elsewhere].close()

    order.start()

    assert connections[elsewhere].connection is None


@pytest.mark.parametrize("way", WAITS)
def test_waiting_for_a_run_of_the_transaction_that_is_open_is_refused_at_once(
    order: Any, way: str
) -> None:
    with transaction.atomic():
        started = order.using(instance_id="one").start()
        with transaction.atomic():
            for handle in (started, flows.load("one"), flows.load_run(started.run_id)):
                with pytest.raises(RunNotCommitted, match="Wait after the transaction"):
                    WAITS[way](handle)
        assert started.refresh().status == "pending"

    with pytest.raises(ObservationTimeout):
        WAITS[way](started)


@pytest.mark.parametrize("way", WAITS)
def test_a_run_that_is_committed_may_be_waited_for_in_a_later_transaction(
    order: Any, way: str
) -> None:
    handle = order.start()

    with transaction.atomic(), pytest.raises(ObservationTimeout):
        WAITS[way](handle)


@pytest.mark.parametrize("way", WAITS)
def test_a_run_that_was_taken_back_is_not_there_for_who_waits(
    order: Any, way: str
) -> None:
    with transaction.atomic():
        handle = order.start()
        transaction.set_rollback(True)

    with transaction.atomic(), pytest.raises(RunNotFound):
        WAITS[way](handle)

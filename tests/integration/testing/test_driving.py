"""run_workflow, drain, send_signal and the clock that they move."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import TestCase, TransactionTestCase, override_settings

from saga_flow import Duplicate, FlowStatus, executors, flows
from saga_flow.exceptions import DefinitionError, InsideTransaction
from saga_flow.executors import inline
from saga_flow.store import outbox
from saga_flow.testing import (
    drain,
    fake_action,
    fake_clock,
    run_workflow,
    send_signal,
)
from tests.integration.testing.shop import Checkout, Monthly, Reserve, charge, refund

MONTH = timedelta(days=30)


@pytest.mark.django_db
def test_a_sleep_of_a_month_takes_no_time() -> None:
    handle = run_workflow(Monthly)

    assert handle.output() == 30


@pytest.mark.django_db
def test_the_clock_that_the_test_holds_is_the_one_that_moves() -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)

    with fake_clock(start) as clock:
        handle = run_workflow(Monthly)
        after = clock.now

    assert handle.created_at == start
    assert handle.closed_at == after == start + MONTH


@pytest.mark.django_db
def test_retry_delays_are_skipped() -> None:
    answers = [OSError("away"), OSError("still away"), "ch_1"]

    with fake_clock() as clock, fake_action(charge, side_effect=answers) as fake:
        start = clock.now
        handle = run_workflow(Checkout, "order", 5)

        assert clock.now - start == timedelta(hours=1 + 2)
    assert len(fake.calls) == 3
    assert handle.status is FlowStatus.WAITING


@pytest.mark.django_db
def test_a_wait_for_a_signal_is_left_waiting_also_with_a_timeout() -> None:
    with fake_action(charge, returns="ch_1"), fake_clock() as clock:
        start = clock.now
        handle = run_workflow(Checkout, "order", 5)

        assert clock.now == start
    assert handle.snapshot.wait_kind == "signal"


@pytest.mark.django_db
def test_a_wait_runs_out_once_the_test_moves_the_clock_past_it() -> None:
    with (
        fake_clock() as clock,
        fake_action(charge, returns="ch_1"),
        fake_action(refund, returns=None),
    ):
        handle = run_workflow(Checkout, "order", 5)
        clock.advance(timedelta(days=1, seconds=1))
        drain()

    assert handle.refresh().failed()
    assert handle.error is not None
    assert handle.error["type"] == "SignalTimedOut"


@pytest.mark.django_db
def test_a_deadline_is_met_before_a_sleep_that_is_longer() -> None:
    start = Monthly.using(expires_in=timedelta(hours=1))

    handle = run_workflow(start)

    assert handle.expired()
    assert handle.closed_at == handle.created_at + timedelta(hours=1)


@pytest.mark.django_db
def test_drain_ends_a_run_whose_deadline_has_passed() -> None:
    with fake_clock() as clock, fake_action(charge, returns="ch_1"):
        start = Checkout.using(expires_in=timedelta(hours=1))
        with fake_action(refund):
            handle = run_workflow(start, "order", 5)
            assert drain(skip_time=True) == 0

            clock.advance(timedelta(hours=1))
            drain()

    assert handle.refresh().expired()


@pytest.mark.django_db
def test_a_start_that_was_put_off_is_driven() -> None:
    handle = run_workflow(Reserve.using(run_after=timedelta(days=2)), "order")

    assert handle.completed()


@pytest.mark.django_db
def test_options_of_the_start_are_kept() -> None:
    handle = run_workflow(Reserve.using(instance_id="mine", tags={"a": "b"}), "order")

    assert handle.instance_id == "mine"
    assert [(tag.key, tag.value) for tag in handle.tags()] == [("a", "b")]


@pytest.mark.django_db
def test_drain_drives_all_that_was_started() -> None:
    handles = [Reserve.start(str(number)) for number in range(3)]

    taken_up = drain()

    assert taken_up == 3
    assert [handle.refresh().output() for handle in handles] == [
        "shelf of 0",
        "shelf of 1",
        "shelf of 2",
    ]


@pytest.mark.django_db
def test_drain_leaves_what_is_not_due() -> None:
    handle = Monthly.start()

    drain()

    assert handle.refresh().snapshot.wait_kind == "timer"
    assert drain() == 0


@pytest.mark.django_db
def test_drain_skips_time_when_it_is_told_to() -> None:
    handle = Monthly.start()

    drain(skip_time=True)

    assert handle.refresh().output() == 30


@pytest.mark.django_db
def test_drain_ends_on_what_no_drive_brings_on() -> None:
    with fake_clock(), fake_action(charge, returns="ch_1"):
        Checkout.start("order", 5)

        assert drain(skip_time=True) == 1
        assert drain(skip_time=True) == 0


@pytest.mark.django_db
def test_drain_finds_nothing_to_do() -> None:
    assert drain() == 0


@pytest.mark.django_db
def test_drain_is_refused_inside_a_transaction_of_the_test() -> None:
    with transaction.atomic(), pytest.raises(InsideTransaction, match=r"drain\(\)"):
        drain()


@pytest.mark.django_db
def test_a_delivery_drives_the_run_on() -> None:
    with fake_action(charge, returns="ch_1"):
        handle = run_workflow(Checkout, "order", 5)

        told = send_signal(handle, Checkout.approval, "yes")

    assert told.output() == "ch_1"


@pytest.mark.django_db
def test_a_delivery_may_come_before_the_first_pass() -> None:
    with fake_action(charge, returns="ch_1"):
        Checkout.using(instance_id="early").start("order", 5)

        told = send_signal("early", "approval", "yes")

    assert told.output() == "ch_1"
    assert [row.status for row in told.signals()] == ["consumed"]


@pytest.mark.django_db
def test_a_delivery_may_come_from_a_body() -> None:
    def approve(order: str, cents: int) -> str:
        send_signal("in-body", Checkout.approval, "yes")
        return "ch_1"

    with fake_action(charge, side_effect=approve):
        handle = run_workflow(Checkout.using(instance_id="in-body"), "order", 5)

    assert handle.output() == "ch_1"


@pytest.mark.django_db
def test_a_delivery_from_a_body_leaves_the_clock_alone() -> None:
    def approve(order: str, cents: int) -> str:
        send_signal("in-body", Checkout.approval, "yes")
        return "ch_1"

    start = Checkout.using(instance_id="in-body", expires_in=timedelta(hours=1))
    with fake_clock() as clock, fake_action(charge, side_effect=approve):
        begin = clock.now
        handle = run_workflow(start, "order", 5)

        assert clock.now == begin
    assert handle.completed()


@pytest.mark.django_db(transaction=True)
def test_drain_in_a_body_leaves_the_run_of_the_body_alone() -> None:
    taken_up: list[int] = []

    def look_round(order: str, cents: int) -> str:
        taken_up.append(drain())
        return "ch_1"

    with fake_clock(), fake_action(charge, side_effect=look_round):
        other = Reserve.start("other")
        handle = run_workflow(Checkout, "order", 5)

    assert len(taken_up) == 1
    assert other.refresh().completed()
    assert handle.status is FlowStatus.WAITING


@pytest.mark.django_db
def test_a_delivery_is_refused_inside_a_transaction_of_the_test() -> None:
    with fake_action(charge, returns="ch_1"):
        handle = run_workflow(Checkout, "order", 5)

    with transaction.atomic(), pytest.raises(InsideTransaction, match="send_signal"):
        send_signal(handle, Checkout.approval, "yes")
    assert handle.commands()[-1].type == "start"


@pytest.mark.django_db
def test_a_clock_without_a_time_zone_is_refused() -> None:
    with (
        pytest.raises(DefinitionError, match="aware datetime"),
        fake_clock(
            datetime(2030, 1, 1)  # noqa: DTZ001 - what is refused
        ),
    ):
        pytest.fail("it was taken")


class InATestCase(TestCase):
    """Everything inside the transaction that Django opens around a test."""

    def test_a_run_goes_to_its_end(self) -> None:
        assert run_workflow(Reserve, "order").output() == "shelf of order"

    def test_what_was_started_is_drained(self) -> None:
        handle = Reserve.start("order")

        drain()

        assert handle.refresh().completed()

    def test_a_body_s_database_error_leaves_the_test_usable(self) -> None:
        users = get_user_model().objects

        def twice(order: str, cents: int) -> None:
            for _ in range(2):
                # save() marks the whole transaction as broken
                users.create(username=order)

        with fake_action(charge, side_effect=twice) as fake:
            handle = run_workflow(Checkout, "order", 5)

        assert handle.failed()
        assert handle.error is not None
        assert handle.error["cause"]["type"] == "IntegrityError"
        assert len(fake.calls) == 3
        assert users.count() == 0

    def test_a_rollback_runs(self) -> None:
        with fake_action(charge, returns="ch_1"), fake_action(refund) as undo:
            handle = run_workflow(Checkout, "order", 5)
            handle = send_signal(handle, Checkout.approval, "no")

        assert handle.failed()
        assert [call.args for call in undo.calls] == [("ch_1",)]

    def test_callbacks_after_the_commit_do_the_work_of_the_inline_executor(
        self,
    ) -> None:
        outbox.bind(inline.wake)
        self.addCleanup(executors.bind)

        with self.captureOnCommitCallbacks(execute=True):
            handle = Reserve.start("order")

        assert handle.refresh().completed()

    def test_an_executor_that_is_overridden_for_a_test_is_the_one_that_works(
        self,
    ) -> None:
        with (
            override_settings(SAGA_FLOW={"EXECUTOR": "inline"}),
            self.captureOnCommitCallbacks(execute=True),
        ):
            handle = Reserve.start("order")

        assert handle.refresh().completed()
        with self.captureOnCommitCallbacks(execute=True):
            assert Reserve.start("order").refresh().status is FlowStatus.PENDING
        assert inline.take() is None

    def test_callbacks_after_the_commit_follow_a_run_to_its_end(self) -> None:
        outbox.bind(inline.wake)
        self.addCleanup(executors.bind)

        with fake_action(charge, returns="ch_1"):
            with self.captureOnCommitCallbacks(execute=True):
                handle = Checkout.start("order", 5)
            with self.captureOnCommitCallbacks(execute=True):
                handle.signal(Checkout.approval, "yes")

        assert handle.refresh().output() == "ch_1"


class InATransactionTestCase(TransactionTestCase):
    """Every commit is real."""

    def test_a_run_goes_to_its_end(self) -> None:
        assert run_workflow(Monthly).output() == 30

    def test_what_was_started_is_drained(self) -> None:
        handle = Reserve.start("order")

        drain()

        assert handle.refresh().completed()


@pytest.fixture
def _inline() -> Iterator[None]:
    outbox.bind(inline.wake)
    yield
    executors.bind()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_inline")
def test_nothing_runs_by_itself_where_commits_are_real() -> None:
    handle = Reserve.start("order")

    assert handle.refresh().status is FlowStatus.PENDING
    assert flows.filter(workflow=Reserve, status="pending").count() == 1
    assert drain() == 1


@pytest.mark.django_db
def test_a_start_that_returns_an_existing_run_drives_that_one() -> None:
    again = Reserve.using(instance_id="one", on_duplicate=Duplicate.RETURN_EXISTING)
    again.start("first")

    handle = run_workflow(again, "second")

    assert handle.output() == "shelf of first"

"""One run: its snapshot, and what it left in each table."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from saga_flow import queries
from saga_flow.exceptions import RunNotFound
from saga_flow.queries import operations
from saga_flow.records import Target
from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    CompensationStatus,
    FlowStatus,
    SideEffectKind,
    SignalStatus,
    TimerStatus,
)
from tests.support import seeding

pytestmark = pytest.mark.django_db


def test_an_instance_means_its_current_run() -> None:
    seeding.run("order-1", status=FlowStatus.FAILED, is_current=None)
    current = seeding.run("order-1", run_number=2)

    assert queries.snapshot(Target(instance_id="order-1")).run_id == current.pk


def test_a_run_id_means_that_run_of_whichever_tenant() -> None:
    earlier = seeding.run(
        "order-1", status=FlowStatus.FAILED, is_current=None, tenant="acme"
    )

    found = queries.snapshot(Target(run_id=earlier.pk))

    assert (found.run_id, found.is_current, found.tenant) == (earlier.pk, False, "acme")


@pytest.mark.parametrize(
    "target",
    [
        Target(instance_id="order-2"),
        Target(instance_id="order-1", tenant="acme"),
        Target(run_id=UUID(int=0)),
    ],
)
def test_what_is_not_there_is_not_found(target: Target) -> None:
    seeding.run("order-1")

    with pytest.raises(RunNotFound):
        queries.snapshot(target)


def test_a_run_of_another_instance_is_not_found() -> None:
    run = seeding.run("order-1")

    with pytest.raises(RunNotFound, match="'order-2' has no run"):
        queries.snapshot(Target(instance_id="order-2", run_id=run.pk))


def test_a_snapshot_tells_error_memo_and_mappings() -> None:
    seeding.run(
        "order-1",
        status=FlowStatus.TERMINATED,
        error=seeding.failure(),
        memo='{"note":"x"}',
        result="1",
    )

    found = queries.snapshot(Target(instance_id="order-1"))

    assert found.error is not None
    assert found.error["type"] == "CardDeclined"
    assert (found.memo, found.result) == ({"note": "x"}, "1")
    assert (found.status_bucket, found.closed_reason) == ("failed", "terminated")
    assert found.is_terminal


def test_locate_takes_an_instance_id_or_a_run_id() -> None:
    run = seeding.run("order-1")

    assert queries.locate("order-1") == Target(instance_id="order-1")
    assert queries.locate(str(run.pk)) == Target(run_id=run.pk)


@pytest.mark.parametrize("text", ["order-2", str(UUID(int=0)), "", "é\x00"])
def test_locate_says_what_it_did_not_find(text: str) -> None:
    with pytest.raises(RunNotFound, match="saga_list"):
        queries.locate(text)


def test_steps_come_by_ordinal_and_page() -> None:
    run = seeding.run()
    for sequence in (3, 0, 2):
        seeding.step(run, sequence, result='"r"', error=seeding.failure())

    everything = queries.steps(run.pk)
    rest = queries.steps(run.pk, after=0, limit=1, payloads=False)

    assert [step.sequence for step in everything] == [0, 2, 3]
    assert (everything[0].status, everything[0].result) == (
        ActionStatus.COMPLETED,
        '"r"',
    )
    assert everything[0].error is not None
    assert [(step.sequence, step.result) for step in rest] == [(2, None)]


def test_one_step_is_read_or_none() -> None:
    run = seeding.run()
    seeding.step(run, 4, arguments='{"args":[1]}')

    assert (found := queries.step(run.pk, 4)) is not None
    assert found.arguments == '{"args":[1]}'
    assert queries.step(run.pk, 5) is None


def test_attempts_keep_steps_and_undos_apart() -> None:
    run = seeding.run()
    for sequence, undo, attempt in ((0, True, 1), (0, False, 2), (0, False, 1)):
        run.attempts.create(
            sequence=sequence,
            attempt=attempt,
            undo=undo,
            outcome="failed",
            closed_at=seeding.START,
        )

    found = queries.attempts(run.pk, sequences=[0])

    assert [(row.undo, row.attempt) for row in found] == [
        (False, 1),
        (False, 2),
        (True, 1),
    ]
    assert queries.attempts(run.pk, sequences=[1]) == ()


def test_undos_come_in_the_order_of_the_rollback() -> None:
    run = seeding.run()
    seeding.undo(run, 0, order=1)
    seeding.undo(run, 3, order=0, status=CompensationStatus.FAILED)

    assert [(row.sequence, row.status) for row in queries.compensations(run.pk)] == [
        (3, CompensationStatus.FAILED),
        (0, CompensationStatus.COMPLETED),
    ]


def test_the_journal_is_paged_both_ways() -> None:
    run = seeding.run()
    for sequence in range(1, 6):
        seeding.line(run, sequence, data='{"n":1}')

    forward = queries.history(run.pk, after=1, limit=2)
    backward = queries.history(run.pk, before=5, limit=2, newest_first=True)

    assert [row.sequence for row in forward] == [2, 3]
    assert [row.sequence for row in backward] == [4, 3]
    assert forward[0].data == {"n": 1}


def test_waits_and_values_are_read_with_their_enums() -> None:
    run, now = seeding.run(), seeding.START
    delivery = run.signals.create(
        name="go", status="received", received_seq=3, created_at=now, payload="1"
    )
    run.signals.create(
        name="go", status="consumed", sequence=0, delivery=delivery, created_at=now
    )
    run.timers.create(sequence=1, status="pending", fire_at=now, created_at=now)
    run.side_effects.create(
        sequence=2, kind="uuid4", value='"u"', created_at=now, key="k"
    )
    run.children.create(
        sequence=3,
        child=uuid4(),
        workflow_name="w",
        status="running",
        close_policy="cancel",
        created_at=now,
    )

    sent, marker = queries.signals(run.pk)

    assert (sent.status, sent.is_delivery, sent.payload) == (
        SignalStatus.RECEIVED,
        True,
        "1",
    )
    assert (marker.delivery_id, marker.is_delivery) == (delivery.pk, False)
    assert queries.timers(run.pk)[0].status is TimerStatus.PENDING
    assert queries.side_effects(run.pk)[0].kind is SideEffectKind.UUID4
    assert queries.children(run.pk)[0].status is ChildStatus.RUNNING


def test_commands_keep_the_newest_and_tell_who_asked() -> None:
    run = seeding.run()
    for second, name in enumerate(("start", "signal", "cancel")):
        run.commands.create(
            type=name,
            instance_id="order-1",
            status="accepted",
            outcome="x",
            created_at=seeding.START + timedelta(seconds=second),
            principal_type="user",
            principal_id="7",
        )

    found = queries.commands(run.pk, limit=2)

    assert [(row.type, row.principal) for row in found] == [
        ("signal", "user:7"),
        ("cancel", "user:7"),
    ]


def test_counts_are_told_by_status() -> None:
    run, other = seeding.run("order-1"), seeding.run("order-2")
    for sequence in range(3):
        seeding.step(run, sequence)
        seeding.undo(run, sequence, order=sequence)
    seeding.step(run, 3, status=ActionStatus.FAILED)

    assert operations.step_counts(run.pk) == {
        ActionStatus.COMPLETED: 3,
        ActionStatus.FAILED: 1,
    }
    assert operations.undo_counts([run.pk, other.pk]) == {
        run.pk: {CompensationStatus.COMPLETED: 3}
    }


def test_tags_are_read_by_run() -> None:
    run = seeding.run(tags={"b": "2", "a": "1"})

    found = [(row.key, row.value) for row in queries.tags(run.pk)]

    assert found == [("a", "1"), ("b", "2")]
    assert operations.tags_of([run.pk, uuid4()]) == {run.pk: dict(found)}

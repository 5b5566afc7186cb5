"""What a loser is told, and that it changed nothing."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from saga_flow import ConflictError, Workflow, flows
from saga_flow.records import Claim, Gathered, Snapshot
from saga_flow.states import FlowStatus
from saga_flow.store import claims, commands, conflicts, guards, passes, workers
from saga_flow.store.command_rows import Command
from saga_flow.store.sql import RunUpdate, guard
from saga_flow.store.transaction import Refused
from tests.support.rows import dump

pytestmark = pytest.mark.django_db(transaction=True)


class Waits(Workflow):
    class Meta:
        name = "conflicts.waits"

    def handle(self) -> None:
        self.signal("go").wait()


def _claimed() -> Claim:
    handle = Waits.using(instance_id="c-1").start()
    claim = claims.claim_pass(UUID(str(handle.run_id)), workers.ensure())
    assert claim is not None
    return claim


def _lost(write: Callable[[], None]) -> ConflictError:
    with pytest.raises(Refused) as refused:
        write()
    return conflicts.explain(refused.value)


@pytest.mark.covers("M-RUN-10", "LR-1", "LR-9")
def test_an_illegal_transition_names_run_status_and_wish() -> None:
    claim = _claimed()
    flows.load("c-1").cancel()

    before = dump(claim.run)
    conflict = _lost(lambda: passes.complete(claim, Gathered(), "null", 0))

    assert conflict.reason == "illegal_transition"
    assert (conflict.run_id, conflict.status) == (claim.run, FlowStatus.CANCELLED)
    assert conflict.wanted == FlowStatus.COMPLETED
    assert "cancelled" in str(conflict)
    assert dump(claim.run) == before


def test_a_lost_lease_is_told_from_a_forbidden_move() -> None:
    claim = _claimed()
    workers.leave(claim.owner)
    taken = claims.claim_pass(claim.run, workers.ensure())
    assert taken is not None

    conflict = _lost(lambda: passes.complete(claim, Gathered(), "null", 0))

    assert conflict.reason == "lease_lost"


@pytest.mark.covers("LR-2")
def test_a_stale_revision_is_a_conflict_for_the_handle() -> None:
    handle = Waits.using(instance_id="c-1").run_sync()

    with pytest.raises(ConflictError) as conflict:
        handle.using(expected_revision=handle.revision + 1).cancel()

    assert conflict.value.reason == "stale_revision"
    assert flows.load("c-1").status == FlowStatus.WAITING


def test_a_command_that_lost_every_race_is_told_the_last_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handle = Waits.using(instance_id="c-1").run_sync()

    def lose(_command: Command, run: Snapshot) -> None:
        where = (guards.INTERRUPTED,)
        guard(RunUpdate(run=run.run_id, where=where, sets={"intent": None}))

    monkeypatch.setattr(commands, "cancel", lose)
    answer = handle.attempt_cancel()

    assert answer.outcome == "rejected_conflict"
    assert "conflict_attempts_exhausted" in answer.message
    assert "illegal_transition. It is waiting" in answer.message
    with pytest.raises(ConflictError) as conflict:
        handle.cancel()
    assert conflict.value.reason == "conflict_attempts_exhausted"

"""Work through a real cluster, and what is left when parts or all of it die."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from django_q.models import OrmQ

from saga_flow.models import ActionRun, CompensationRun, FlowEvent, FlowRun, Worker
from saga_flow.states import LIVE_WORKER, FlowStatus, WorkerStatus
from tests.cluster import harness
from tests.support import brokers
from tests.support.eventually import eventually
from tests.support.services import Environment
from tests.zoo import gate
from tests.zoo.workflows import (
    Asking,
    Gated,
    GatedElsewhere,
    GatedWhole,
    Napping,
    RolledBack,
    Straight,
)

# Real processes see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

BACK_IN_OTHER_HANDS = 30
"""Seconds within which a dead worker's work is somebody else's."""


@pytest.mark.covers("M-EXE-2")
def test_work_of_every_kind_is_done_and_the_cluster_ends_in_good_order(
    tmp_path: Path,
) -> None:
    with harness.running(tmp_path) as cluster:
        straight = Straight.using(instance_id="straight").start(3)
        napping = Napping.using(instance_id="napping").start(1.5)
        asking = Asking.using(instance_id="asking").start()
        harness.await_status(cluster, asking.run_id, FlowStatus.WAITING)
        asking.signal("answer", "yes")

        ended = [
            harness.await_status(cluster, each.run_id).status
            for each in (straight, napping, asking)
        ]
        assert ended == [FlowStatus.COMPLETED] * 3
        cluster.stop()

        assert cluster.process.returncode == 0
        assert set(Worker.objects.values_list("status", flat=True)) == {
            WorkerStatus.GONE
        }
    assert harness.effects("straight") == [(f"step {n}", 1) for n in range(3)]


def test_a_cluster_on_redis_does_the_same(
    tmp_path: Path, redis_server: Environment
) -> None:
    with brokers.redis(redis_server):
        environment = brokers.environment_of(redis_server)
        with harness.running(tmp_path, environment=environment) as cluster:
            gate.release(tmp_path, "gate")
            gate.release(tmp_path, "undo-two")
            straight = Straight.using(instance_id="straight").start(3)
            elsewhere = GatedElsewhere.using(instance_id="elsewhere").start("gate")
            back = RolledBack.using(instance_id="back").start("two")
            asking = Asking.using(instance_id="asking").start()
            asking.signal("answer", "yes")

            ended = [
                harness.await_status(cluster, each.run_id).status
                for each in (straight, elsewhere, asking, back)
            ]
    assert ended == [FlowStatus.COMPLETED] * 3 + [FlowStatus.FAILED]
    assert OrmQ.objects.count() == 0
    assert harness.effects("elsewhere") == [("before", 1), ("gate", 1), ("after", 1)]
    assert harness.effects("back")[-2:] == [("undo two", 1), ("undo one", 1)]


def test_a_worker_killed_in_mid_step_is_followed_by_another(tmp_path: Path) -> None:
    with harness.running(tmp_path) as cluster:
        run = Gated.using(instance_id="gated").start("gate")
        victim = harness.await_held(cluster, "gate")
        os.kill(victim, signal.SIGKILL)

        harness.await_held(
            cluster, "gate", within=BACK_IN_OTHER_HANDS, but=frozenset({victim})
        )
        gate.release(tmp_path, "gate")

        row = harness.await_status(cluster, run.run_id)
    assert row.status == FlowStatus.COMPLETED
    step = ActionRun.objects.get(run=run.run_id, sequence=1)
    assert (step.attempt, step.lost_attempts) == (2, 1)
    assert harness.effects("gated") == [("before", 1), ("gate", 2), ("after", 1)]
    assert Worker.objects.get(pid=victim).status == WorkerStatus.LOST


def test_what_a_killed_worker_wrote_in_an_atomic_step_is_there_once(
    tmp_path: Path,
) -> None:
    with harness.running(tmp_path) as cluster:
        run = GatedWhole.using(instance_id="gated").start("gate")
        victim = harness.await_held(cluster, "gate")
        os.kill(victim, signal.SIGKILL)
        gate.release(tmp_path, "gate")

        row = harness.await_status(cluster, run.run_id)
    assert row.status == FlowStatus.COMPLETED
    step = ActionRun.objects.get(run=run.run_id, sequence=1)
    assert (step.attempt, step.lost_attempts, step.in_doubt) == (2, 1, False)
    # what the first attempt had written went with its transaction
    assert harness.effects("gated") == [("before", 1), ("gate", 2), ("after", 1)]
    assert Worker.objects.get(pid=victim).status == WorkerStatus.LOST


@pytest.mark.covers("L-RECL-7a")
def test_a_worker_killed_in_a_queued_step_is_followed_by_another(
    tmp_path: Path,
) -> None:
    with harness.running(tmp_path) as cluster:
        run = GatedElsewhere.using(instance_id="gated").start("gate")
        victim = harness.await_held(cluster, "gate")
        # nobody drives the run meanwhile
        harness.await_status(cluster, run.run_id, FlowStatus.WAITING)
        os.kill(victim, signal.SIGKILL)

        harness.await_held(
            cluster, "gate", within=BACK_IN_OTHER_HANDS, but=frozenset({victim})
        )
        gate.release(tmp_path, "gate")

        row = harness.await_status(cluster, run.run_id)
    assert row.status == FlowStatus.COMPLETED
    step = ActionRun.objects.get(run=run.run_id, sequence=1)
    assert (step.attempt, step.lost_attempts) == (2, 1)
    assert harness.effects("gated") == [("before", 1), ("gate", 2), ("after", 1)]


def test_a_worker_killed_in_mid_undo_is_followed_by_another(tmp_path: Path) -> None:
    with harness.running(tmp_path) as cluster:
        run = RolledBack.using(instance_id="back").start("two")
        victim = harness.await_held(cluster, "undo-two")
        os.kill(victim, signal.SIGKILL)
        harness.await_held(
            cluster, "undo-two", within=BACK_IN_OTHER_HANDS, but=frozenset({victim})
        )
        gate.release(tmp_path, "undo-two")

        row = harness.await_status(cluster, run.run_id)
    assert (row.status, row.compensation_state) == (FlowStatus.FAILED, "completed")
    assert harness.effects("back") == [
        ("one", 1),
        ("two", 1),
        ("undo two", 2),
        ("undo one", 1),
    ]
    undo = CompensationRun.objects.get(run=run.run_id, sequence=1)
    assert (undo.attempt, undo.lost_attempts) == (2, 1)


def test_a_worker_that_was_only_asleep_changes_nothing_when_it_wakes(
    tmp_path: Path,
) -> None:
    with harness.running(tmp_path) as cluster:
        run = Gated.using(instance_id="gated").start("gate")
        sleeper = harness.await_held(cluster, "gate")
        harness.freeze(sleeper)
        try:
            harness.await_held(cluster, "gate", but=frozenset({sleeper}))
            gate.release(tmp_path, "gate")
            harness.await_status(cluster, run.run_id, FlowStatus.COMPLETED)
        finally:
            os.kill(sleeper, signal.SIGCONT)

        rejected = FlowEvent.objects.filter(
            run=run.run_id, type="action.outcome_rejected"
        )
        eventually(rejected.first, "the late outcome", details=cluster.last_lines)
        reborn = Worker.objects.filter(pid=sleeper, status__in=LIVE_WORKER)
        eventually(reborn.first, "a new incarnation", details=cluster.last_lines)
    assert ActionRun.objects.get(run=run.run_id, sequence=1).attempt == 2
    assert harness.effects("gated").count(("after", 1)) == 1
    assert FlowRun.objects.get(pk=run.run_id).status == FlowStatus.COMPLETED


def test_nothing_is_lost_when_the_whole_cluster_is_killed(tmp_path: Path) -> None:
    with harness.running(tmp_path) as cluster:
        gated = Gated.using(instance_id="gated").start("gate")
        rolled_back = RolledBack.using(instance_id="back").start("two")
        harness.await_held(cluster, "gate")
        harness.await_held(cluster, "undo-two")
        # Both workers are held, so these are accepted and not begun.
        accepted = [
            Straight.using(instance_id=f"straight-{n}").start(2) for n in range(5)
        ]
        napping = Napping.using(instance_id="napping").start(2)
        asking = Asking.using(instance_id="asking").start()
        asking.signal("answer", "early")
        cluster.kill()
    for name in ("gate", "undo-two"):
        gate.release(tmp_path, name)

    with harness.running(tmp_path) as cluster:
        ended = {
            each.instance_id: harness.await_status(cluster, each.run_id).status
            for each in (gated, rolled_back, *accepted, napping, asking)
        }
    assert ended.pop("back") == FlowStatus.FAILED
    assert set(ended.values()) == {FlowStatus.COMPLETED}
    assert harness.effects("gated") == [("before", 1), ("gate", 2), ("after", 1)]
    assert harness.effects("back")[-2:] == [("undo two", 2), ("undo one", 1)]
    for each in accepted:
        assert harness.effects(each.instance_id) == [("step 0", 1), ("step 1", 1)]


def test_lost_jobs_are_made_up_for(tmp_path: Path) -> None:
    runs = [Straight.using(instance_id=f"straight-{n}").start(1) for n in range(3)]
    OrmQ.objects.all().delete()

    with harness.running(tmp_path) as cluster:
        for run in runs:
            assert (
                harness.await_status(cluster, run.run_id).status == FlowStatus.COMPLETED
            )


def test_a_cluster_that_takes_up_nothing_is_ended_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    command = ("saga_cluster", "--stuck-after", "3")
    with harness.running(tmp_path, *command) as cluster:
        # One of the idle ones has the queue's lock, and takes it to its grave.
        for worker in harness.await_workers(cluster):
            os.kill(worker.pid, signal.SIGKILL)
        run = Straight.using(instance_id="straight").start(1)

        code = cluster.process.wait(harness.STOP_SECONDS * 2)

        assert (code, "the cluster is stuck" in cluster.last_lines()) == (1, True)
    with harness.running(tmp_path) as cluster:
        row = harness.await_status(cluster, run.run_id)
    assert row.status == FlowStatus.COMPLETED


def test_saga_cluster_ends_with_its_cluster_when_it_is_told_to(tmp_path: Path) -> None:
    with harness.running(tmp_path, "saga_cluster") as cluster:
        pids = [worker.pid for worker in harness.await_workers(cluster)]
        eventually(
            lambda: "2 workers, 0 busy" in cluster.log.read_text(),
            "a status line",
            details=cluster.last_lines,
        )
        cluster.process.terminate()

        assert cluster.process.wait(harness.STOP_SECONDS) == 0
    listed = subprocess.run(
        ["ps", "-o", "pid=", "-p", ",".join(map(str, pids))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.stdout == ""

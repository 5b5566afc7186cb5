"""saga_sweep, saga_workers, and what saga_cluster sees."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from saga_flow import clock, holdings
from saga_flow.models import FlowRun, Worker
from saga_flow.records import Wake
from saga_flow.states import FlowStatus, WorkerStatus
from saga_flow.store import leases, pressure, workers
from tests.integration.pulse import rows
from tests.support import database
from tests.support.eventually import eventually
from tests.zoo.workflows import Straight

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]


def output(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_sweeping_says_what_was_done(time: clock.FakeClock, sent: list[Wake]) -> None:
    rows.run()

    assert output("saga_sweep").splitlines() == [
        "due_work   runs: 1",
        "deadlines  nothing to do",
        "limits     nothing to do",
        "workers    nothing to do",
        "doctor     nothing to do",
    ]
    assert {ran.name for ran in leases.ran()} >= {"due_work", "doctor"}


def test_sweeping_by_name_as_json(time: clock.FakeClock, sent: list[Wake]) -> None:
    rows.run()

    assert json.loads(output("saga_sweep", "due_work", "--json")) == {
        "sweep": "due_work",
        "counts": {"runs": 1, "steps": 0},
    }


def test_an_unknown_sweep_is_a_usage_error() -> None:
    with pytest.raises(CommandError, match=r"no sweep 'dew_work'") as caught:
        output("saga_sweep", "dew_work")
    assert caught.value.returncode == 2


def test_a_loop_takes_no_names() -> None:
    with pytest.raises(CommandError, match="name none") as caught:
        output("saga_sweep", "due_work", "--loop")
    assert caught.value.returncode == 2


def test_rows_that_cannot_be_swept_make_it_fail(
    time: clock.FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Wake) -> None:
        raise ConnectionError

    monkeypatch.setattr("saga_flow.store.outbox._send", refuse)
    rows.run()

    with pytest.raises(CommandError, match="1 rows could not be swept"):
        output("saga_sweep", "due_work")


@pytest.mark.django_db(transaction=True)
def test_without_a_cluster_the_loop_does_the_work_itself(tmp_path: Path) -> None:
    run = Straight.using(instance_id="straight").start(2)
    settings = tmp_path / "loop_settings.py"
    settings.write_text(
        "from settings.test import *\nSAGA_FLOW = {'EXECUTOR': 'none'}\n"
    )
    found = database.environment()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "saga_sweep", "--loop"],
        cwd=ROOT,
        env={
            **os.environ,
            **found,
            "DJANGO_SETTINGS_MODULE": "loop_settings",
            "PYTHONPATH": str(tmp_path),
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        done = FlowRun.objects.filter(pk=run.run_id, status=FlowStatus.COMPLETED)
        eventually(done.first, "the end of the run")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0
    assert out.startswith("Sweeping and doing the work here")
    assert Worker.objects.get().status == WorkerStatus.GONE


def test_nobody_there_is_said_with_what_to_do() -> None:
    with pytest.raises(CommandError, match=r"run `manage.py qcluster`"):
        output("saga_workers")


def test_the_workers_with_who_leads_and_who_is_silent(time: clock.FakeClock) -> None:
    me = workers.ensure("saga_flow")
    leases.acquire(leases.LEADER, me)
    with holdings.holding("step", "12", 1):
        workers.beat(me)
    rows.worker(WorkerStatus.GONE)
    time.advance(timedelta(minutes=65))
    other = rows.worker()
    leases.acquire(leases.LEADER, other)

    lines = output("saga_workers").splitlines()

    assert lines[0].split("  ")[0] == "STATUS"
    assert lines[0].endswith("HOLDING")
    assert "saga_flow" in lines[1]
    assert lines[1].split("  ")[-1] == "step 12"
    assert "1 h 5 min ago (silent)" in lines[1]
    assert "elsewhere:1 (leads)" in lines[2]
    assert len(lines) == 3
    assert len(output("saga_workers", "--all").splitlines()) == 4


def test_the_workers_as_json(time: clock.FakeClock) -> None:
    me = workers.ensure("saga_flow")

    [row] = json.loads(output("saga_workers", "--json"))["workers"]

    assert (UUID(row["id"]), row["status"], row["pid"]) == (me, "alive", os.getpid())
    assert (row["leads"], row["beat_at"]) == (False, clock.now().isoformat())


def test_pressure_is_the_oldest_due_work_that_nobody_has(time: clock.FakeClock) -> None:
    assert pressure.read().due_since is None
    rows.run(FlowStatus.RUNNING, lease_owner=rows.worker())
    rows.run(FlowStatus.WAITING, wake_at=clock.now() + timedelta(seconds=1))
    assert pressure.read().due_since is None

    waiting = rows.run(FlowStatus.WAITING, wake_at=None)
    since = clock.now() - timedelta(seconds=9)
    rows.step(waiting, available_at=since)
    rows.run(wake_at=clock.now() - timedelta(seconds=3))

    now = pressure.read()
    assert (now.due_since, now.live, now.busy) == (since, 1, 0)

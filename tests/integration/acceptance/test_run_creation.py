"""How runs come into being, and how they are told to end."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django_q.models import OrmQ

from saga_flow import Workflow, flows
from saga_flow.exceptions import (
    CannotCancelTerminalFlow,
    RunNotFound,
    UnknownDefinition,
)
from saga_flow.models import FlowEvent, FlowRun
from saga_flow.testing import drain, fake_clock, run_workflow
from tests.integration.acceptance.journal import lines
from tests.support.rows import dump

ROOT = Path(__file__).resolve().parents[3]


def _greeting() -> type[Workflow]:
    class Greeting(Workflow):
        class Meta:
            name = "acceptance.greeting"

        def handle(self, name: str) -> str:
            return f"Hello {name}"

    return Greeting


def _asking() -> type[Workflow]:
    class Asking(Workflow):
        class Meta:
            name = "acceptance.asking"

        def handle(self) -> str:
            return self.signal("answer", str).wait()

    return Asking


@pytest.mark.covers("M-RUN-1")
@pytest.mark.django_db
def test_a_trivial_run_completes_synchronously() -> None:
    handle = _greeting().using(instance_id="one").run_sync("Ada")

    assert handle.completed()
    assert handle.output() == "Hello Ada"
    assert FlowRun.objects.get().result == '"Hello Ada"'


@pytest.mark.covers("M-RUN-2")
@pytest.mark.django_db
def test_a_queued_start_sends_exactly_one_job() -> None:
    handle = _greeting().start("Ada")

    [job] = OrmQ.objects.all()
    task = job.task
    assert task["func"] == "saga_flow.jobs.drive"
    assert list(task["args"]) == [str(handle.run_id)]


@pytest.mark.django_db
def test_a_synchronous_run_sends_no_job() -> None:
    _greeting().using(instance_id="one").run_sync("Ada")

    assert not OrmQ.objects.exists()


@pytest.mark.covers("M-RUN-3")
@pytest.mark.django_db
def test_one_run_of_a_filter_is_its_handle_or_none() -> None:
    asking = _asking()
    handle = run_workflow(asking.using(instance_id="one"))

    found = flows.filter(workflow=asking, status="waiting").first()
    assert found is not None
    assert found.run_id == handle.run_id
    assert flows.filter(workflow=asking, status="completed").first() is None
    assert flows.filter(workflow=asking).get().run_id == handle.run_id


@pytest.mark.covers("M-RUN-4")
@pytest.mark.django_db
def test_loading_a_run_that_is_not_there_raises() -> None:
    with pytest.raises(RunNotFound, match="nobody"):
        flows.load("nobody")
    with pytest.raises(RunNotFound):
        flows.load_run("01980000-0000-7000-8000-000000000000")


@pytest.mark.covers("M-RUN-5")
@pytest.mark.django_db
def test_starting_by_an_unknown_name_raises_and_writes_nothing() -> None:
    _greeting()

    with pytest.raises(UnknownDefinition, match=r"Did you mean 'acceptance\.greeting'"):
        flows.workflow("acceptance.greting").start("Ada")
    assert not FlowRun.objects.exists()


@pytest.mark.covers("M-RUN-6")
@pytest.mark.django_db
def test_the_reason_of_a_cancel_is_kept() -> None:
    handle = run_workflow(_asking())

    handle.using(reason="asked by phone").cancel()
    drain()

    [cancel] = [row for row in handle.commands() if row.type == "cancel"]
    assert cancel.reason == "asked by phone"
    told = [line.data for line in handle.history() if "reason" in line.data]
    assert [data["reason"] for data in told] == ["asked by phone"]
    assert handle.refresh().snapshot.reason == "asked by phone"


@pytest.mark.covers("M-RUN-7")
@pytest.mark.django_db
def test_a_cancel_without_a_reason_stores_none() -> None:
    handle = run_workflow(_asking())

    handle.cancel()
    drain()

    assert handle.refresh().cancelled()
    assert [row.reason for row in handle.commands() if row.type == "cancel"] == [""]
    assert not any(line.data.get("reason") for line in handle.history())


@pytest.mark.covers("M-RUN-8")
@pytest.mark.django_db
def test_cancelling_a_run_that_has_ended_is_refused_and_changes_nothing() -> None:
    handle = run_workflow(_greeting(), "Ada")
    before = dump(handle.run_id)

    with pytest.raises(CannotCancelTerminalFlow, match="completed"):
        handle.cancel()

    after = dump(handle.run_id)
    [refusal] = [row for row in handle.commands() if row.type == "cancel"]
    assert refusal.status == "rejected"
    # the command row is the record of the refusal; nothing else may differ
    assert {**after, "commands": None} == {**before, "commands": None}


@pytest.mark.covers("M-RUN-9")
@pytest.mark.django_db
def test_each_time_is_set_when_its_moment_comes() -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    asking = _asking()

    with fake_clock(begin) as clock:
        handle = asking.start()
        started = handle.snapshot
        assert (started.created_at, started.updated_at) == (begin, begin)
        assert (started.started_at, started.closed_at) == (None, None)

        first_pass = clock.advance(timedelta(minutes=1))
        drain()
        waiting = handle.refresh().snapshot
        assert (waiting.started_at, waiting.updated_at) == (first_pass, first_pass)
        assert waiting.closed_at is None

        clock.advance(timedelta(minutes=1))
        handle.signal("answer", "yes")
        end = clock.advance(timedelta(minutes=1))
        drain()

    closed = handle.refresh().snapshot
    assert (closed.created_at, closed.started_at) == (begin, first_pass)
    assert (closed.updated_at, closed.closed_at) == (end, end)
    assert [each.at for each in handle.history()] == sorted(
        each.at for each in handle.history()
    )


_ELSEWHERE = """
import django
from django.conf import settings
import settings.test as test
test.DATABASES["elsewhere"] = {
    "ENGINE": "django.db.backends.sqlite3", "NAME": __import__("sys").argv[1],
}
test.SAGA_FLOW = {"DATABASE": "elsewhere", "EXECUTOR": "none"}
django.setup()
from django.core.management import call_command
from django.db import connections
from saga_flow import RESULT, Workflow, action

call_command("migrate", "saga_flow", database="elsewhere", verbosity=0)

@action(name="elsewhere.do")
def do() -> int: return 1

@action(name="elsewhere.undo")
def undo(done: int) -> None: pass

class Saga(Workflow):
    class Meta:
        name = "elsewhere.saga"
    def handle(self) -> str:
        self.action(do).compensate_with(undo, RESULT).run()
        word = self.signal("word", str).wait()
        raise ValueError(word)

handle = Saga.using(instance_id="one").run_sync()
handle.signal("word", "no")
from saga_flow import client
client.drive(handle.run_id)
print(handle.refresh().status, handle.compensation_state)
with connections["elsewhere"].cursor() as cursor:
    cursor.execute("SELECT COUNT(*) FROM saga_flow_run")
    print(cursor.fetchone()[0])
print(connections["default"].connection)
"""


@pytest.mark.covers("M-RUN-11")
def test_the_tables_lie_in_the_database_that_the_host_chose(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.sqlite3"
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(file)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "settings.test"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    # the default database was never so much as connected to
    assert done.stdout.split("\n")[:3] == ["failed completed", "1", "None"]


@pytest.mark.django_db
def test_a_start_leaves_run_command_and_first_line_together() -> None:
    handle = _greeting().start("Ada")

    assert lines(handle) == [("flow.created", None)]
    assert [(row.type, row.status) for row in handle.commands()] == [
        ("start", "accepted")
    ]
    assert FlowEvent.objects.count() == 1

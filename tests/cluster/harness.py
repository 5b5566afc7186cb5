"""A real cluster on the test run's database, to be watched, stopped and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import OperationalError, connection

from saga_flow.executors import django_q
from saga_flow.models import ActionRun, FlowRun, Worker
from saga_flow.states import LIVE_WORKER, TERMINAL, FlowStatus
from tests.support import database
from tests.support.eventually import eventually
from tests.zoo import gate
from tests.zoo.models import Effect

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 30
_LAST_LINES = 25


@dataclass(slots=True)
class Cluster:
    """``manage.py`` *command* in a session of its own, its output in a file."""

    folder: Path
    command: tuple[str, ...] = ("qcluster",)
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it is told besides where the database and the gates are."""

    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> Cluster:
        """Start it; what it needs is in the database before anybody works."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *self.command],
                cwd=ROOT,
                env={
                    **os.environ,
                    **database.environment(),
                    **self.environment,
                    gate.VARIABLE: str(self.folder),
                    "PYTHONUNBUFFERED": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.folder / "cluster.log"

    def last_lines(self) -> str:
        """The end of its log, for a failing test to show."""
        return "\n".join(self.log.read_text().splitlines()[-_LAST_LINES:])

    def stop(self) -> None:
        """Ask the main process to end; then kill whatever is left of its session."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill every process of its session with -9."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def running(
    folder: Path, *command: str, environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A cluster for the length of the block, with its workers up."""
    cluster = Cluster(folder, command or ("qcluster",), environment or {}).start()
    try:
        await_workers(cluster)
        yield cluster
    finally:
        cluster.stop()


def await_workers(cluster: Cluster, count: int = 2) -> list[Worker]:
    """Its *count* workers, once all have registered."""
    alive = Worker.objects.filter(
        status__in=LIVE_WORKER, queue=django_q.default_queue()
    )

    def look() -> list[Worker]:
        found = list(alive.order_by("started_at"))
        return found if len(found) >= count else []

    return eventually(look, f"{count} workers", details=cluster.last_lines)


def await_status(cluster: Cluster, run: UUID, *wanted: FlowStatus) -> FlowRun:
    """The run once it has one of the *wanted* statuses; by default: once it ended."""
    rows = FlowRun.objects.filter(pk=run, status__in=wanted or TERMINAL)

    def details() -> str:
        now = FlowRun.objects.get(pk=run)
        steps = list(ActionRun.objects.filter(run=run).values_list("name", "status"))
        return f"It is {now.status}, {steps}.\n{cluster.last_lines()}"

    return eventually(rows.first, f"{wanted or 'the end'} of a run", details=details)


def await_held(
    cluster: Cluster,
    name: str,
    *,
    within: float = 60,
    but: frozenset[int] = frozenset(),
) -> int:
    """The process that has come to gate *name*, none of *but*."""
    found = eventually(
        lambda: gate.held_by(cluster.folder, name) - but,
        f"a body at gate {name}",
        within=within,
        details=cluster.last_lines,
    )
    return found.pop()


def freeze(pid: int) -> None:
    """
    Stop process *pid* where it is, but not in the middle of a write.

    With SQLite a frozen writer keeps everybody else from writing, for as long as it
    is frozen: no engine could go on.
    """

    def stopped() -> bool:
        os.kill(pid, signal.SIGSTOP)
        if _may_write():
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    eventually(stopped, f"process {pid} outside of a write")


def _may_write() -> bool:
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 200")
        try:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
        except OperationalError:
            return False
        finally:
            cursor.execute("PRAGMA busy_timeout = 20000")
    return True


def effects(instance_id: str) -> list[tuple[str, int]]:
    """What took place for one instance, in order: name and attempt."""
    rows = Effect.objects.filter(instance_id=instance_id).order_by("pk")
    return list(rows.values_list("name", "attempt"))

"""The demo's services are watched, and stopped with all that they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from examples.shop import crash, gate, processes
from examples.shop.folder import FolderInUse, fresh_folder
from examples.shop.processes import Service, ServiceDied

pytestmark = pytest.mark.unit

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork()
os.write(1, b"ready\\n")
time.sleep(600)
"""


def service(program: str, tmp_path: Path) -> Service:
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    log = tmp_path / "thing.log"
    log.write_text("first line\nlast line\n")
    return Service(name="thing", process=process, log=log, patience=0.1)


def test_a_service_that_ignores_being_asked_is_killed_with_its_children(
    tmp_path: Path,
) -> None:
    thing = service(STUBBORN, tmp_path)
    assert thing.process.stdout is not None
    with thing.process.stdout as output:
        ready = [output.readline(), output.readline()]

        processes.stop(thing)

        # The pipe ends when the last process that could write to it is gone.
        assert (ready, output.read()) == ([b"ready\n"] * 2, b"")
    assert thing.process.returncode == -signal.SIGKILL


def test_a_service_that_ended_is_reported_with_the_end_of_its_log(
    tmp_path: Path,
) -> None:
    thing = service("raise SystemExit(3)", tmp_path)
    thing.process.communicate()

    with pytest.raises(ServiceDied, match=r"exit code 3.*thing\.log") as caught:
        processes.check(thing)
    assert "last line" in str(caught.value)
    processes.stop(thing)


def test_a_service_that_runs_is_left_alone(tmp_path: Path) -> None:
    thing = service("import time; time.sleep(600)", tmp_path)

    processes.check(thing)

    assert processes.belongs_to(thing, thing.process.pid)
    assert not processes.belongs_to(thing, os.getpid())
    processes.stop(thing)
    assert thing.process.stdout is not None
    thing.process.stdout.close()


def test_only_a_process_of_the_cluster_is_ever_killed(tmp_path: Path) -> None:
    cluster = service("import time; time.sleep(600)", tmp_path)
    (tmp_path / "SO-1.held").write_text(str(os.getpid()))

    assert crash.kill_held(cluster, tmp_path, "SO-1") is None
    processes.stop(cluster)
    assert cluster.process.stdout is not None
    cluster.process.stdout.close()


def test_the_held_process_of_the_cluster_is_killed(tmp_path: Path) -> None:
    cluster = service("import time; time.sleep(600)", tmp_path)
    pid = cluster.process.pid
    assert crash.kill_held(cluster, tmp_path, "SO-1") is None
    (tmp_path / "SO-1.held").write_text(str(pid))

    killed = crash.kill_held(cluster, tmp_path, "SO-1")

    assert killed is not None
    assert killed.pid == pid
    cluster.process.communicate()
    assert cluster.process.returncode == -signal.SIGKILL
    assert gate.held_by(tmp_path, "SO-1") == pid


def test_a_folder_is_emptied_and_serves_one_demo(tmp_path: Path) -> None:
    (tmp_path / "shop.sqlite3").touch()
    (tmp_path / "gates").mkdir()

    with fresh_folder(tmp_path) as folder:
        assert not folder.database.exists()
        assert not folder.gates.exists()
        with (
            pytest.raises(FolderInUse, match=str(os.getpid())),
            fresh_folder(tmp_path),
        ):
            pass
    with fresh_folder(tmp_path):
        pass


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]

        assert processes.free_port(taken) != taken

"""Start, watch and stop the cluster and the web server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from examples.shop.folder import Folder

PROJECT = Path(__file__).resolve().parents[2]
_LAST_LINES = 12


class ServiceDied(Exception):
    """A process of the demo ended by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running management command, in a session and process group of its own."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    patience: float
    """Seconds that it gets to end by itself once asked."""


def start(
    name: str,
    *arguments: str,
    folder: Folder,
    patience: float,
) -> Service:
    """Start ``manage.py`` with *arguments*, its output in the folder's log."""
    log = folder.log(name)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and command
            [sys.executable, str(PROJECT / "manage.py"), *arguments],
            cwd=PROJECT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Inherited by all its children: the folder stays taken while one lives.
            pass_fds=(folder.lock.fileno(),),
        )
    folder.note_process(process.pid)
    return Service(name=name, process=process, log=log, patience=patience)


def check(service: Service) -> None:
    """Raise ServiceDied, with the log's last lines, unless the service runs."""
    code = service.process.poll()
    if code is None:
        return
    lines = service.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
    shown = "\n".join(f"    {line}" for line in lines) or "    (nothing)"
    raise ServiceDied(
        f"the {service.name} ended by itself (exit code {code}). The end of its log,"
        f" {service.log}:\n{shown}"
    )


def stop(service: Service) -> None:
    """
    Ask the main process to end, then kill what is left of its group.

    Only the main process is asked: django-q2's hangs when its children are asked
    at the same time.
    """
    with suppress(ProcessLookupError):
        service.process.terminate()
    with suppress(subprocess.TimeoutExpired):
        service.process.wait(timeout=service.patience)
    with suppress(ProcessLookupError):
        os.killpg(service.process.pid, signal.SIGKILL)
    service.process.wait()


def belongs_to(service: Service, pid: int) -> bool:
    """Tell whether *pid* is a living process of the service's group."""
    try:
        return os.getpgid(pid) == service.process.pid
    except ProcessLookupError:
        return False


def free_port(preferred: int) -> int:
    """Return *preferred* if nobody listens there on this machine, else any free one."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")

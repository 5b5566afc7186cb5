"""The demo's own folder: a fresh one for each demo, and one demo at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LOCK = "lock"


class FolderInUse(Exception):
    """Another demo, or what a killed one left running, uses the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Where a demo keeps its database, logs and gates."""

    root: Path
    lock: IO[str]
    """Open and locked; what inherits it keeps the folder taken."""

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.root / "shop.sqlite3"

    @property
    def gates(self) -> Path:
        """Where steps are held; see the gate module."""
        return self.root / "gates"

    def log(self, service: str) -> Path:
        """Return the log file of a service."""
        return self.root / f"{service}.log"

    def note_process(self, pid: int) -> None:
        """Write down that process *pid* belongs to this demo."""
        self.lock.write(f"{pid}\n")
        self.lock.flush()


@contextmanager
def fresh_folder(root: Path) -> Iterator[Folder]:
    """
    Empty *root* and keep it for this demo.

    Raises FolderInUse, naming the processes, while another demo has it.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / _LOCK).open("a+", encoding="utf-8") as lock:
        _take(lock, root)
        for entry in root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()
        folder = Folder(root=root, lock=lock)
        folder.note_process(os.getpid())
        yield folder


def _take(lock: IO[str], root: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        pids = ", ".join(lock.read().split())
        raise FolderInUse(
            f"{root} is in use by another demo, or by what one left running"
            f" (processes {pids}); end it with Ctrl-C, or those processes with"
            f" kill, and start again"
        ) from error
    lock.truncate(0)

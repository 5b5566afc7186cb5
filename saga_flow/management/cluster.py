"""django-q2's cluster as a child process that is watched and ended properly."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from django.utils import autoreload

COMMAND: Final = (sys.executable, "-m", "django", "qcluster")


class ChildCluster:
    """
    One run of ``qcluster`` in a session of its own.

    Its main process alone is asked to stop: a signal to the whole group would cut
    the jobs off and leave the main process hanging.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, fixed words
            COMMAND, start_new_session=True, env=_environment()
        )

    @property
    def ended(self) -> int | None:
        """The exit code, once the main process has ended."""
        return self._process.poll()

    def stop(self, grace: float) -> None:
        """Ask it to finish what it has; after *grace* seconds, kill all of it."""
        if self.ended is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End every process of it at once; what they held is found and taken up."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _environment() -> Mapping[str, str]:
    # As manage.py would have it: the folder it lies in comes first.
    folder = str(Path(sys.argv[0]).resolve().parent)
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def source_times() -> dict[str, float]:
    """When each loaded Python source was last changed."""
    times: dict[str, float] = {}
    for file in autoreload.iter_all_python_module_files():
        with contextlib.suppress(OSError):
            times[str(file)] = Path(file).stat().st_mtime
    return times

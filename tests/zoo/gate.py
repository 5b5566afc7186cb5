"""
Gates that hold a body until a test opens them, so that a kill hits it in the middle.

A gate is a folder: ``<name>.held.<pid>`` appears when a body has come, ``<name>.open``
lets all go on.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

VARIABLE = "ZOO_GATES"
LIMIT_SECONDS = 120
_LOOK_SECONDS = 0.02


def hold(name: str) -> None:
    """Stay until gate *name* is opened; at once where no gates are set up."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    (Path(folder) / f"{name}.held.{os.getpid()}").touch()
    limit = time.monotonic() + LIMIT_SECONDS
    while not (Path(folder) / f"{name}.open").exists():
        if time.monotonic() > limit:
            raise TimeoutError(f"gate {name} was not opened in {LIMIT_SECONDS} s")
        time.sleep(_LOOK_SECONDS)


def held_by(folder: Path, name: str) -> set[int]:
    """Processes that have come to gate *name* so far."""
    return {int(file.suffix[1:]) for file in folder.glob(f"{name}.held.*")}


def release(folder: Path, name: str) -> None:
    """Let everybody through gate *name* from now on."""
    (folder / f"{name}.open").touch()

"""
A gate that holds one order's step inside its body.

The demo shuts a gate before it starts the order; the step's first attempt writes
its process id to ``<order>.held`` and stays until ``<order>.open`` appears. So a
worker can be killed at a moment when it is known to be in mid-step.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

DIRECTORY_VARIABLE = "SHOP_GATE_DIR"
"""Environment variable that names the gates' directory; without it none is shut."""

_LIMIT_SECONDS = 60
_LOOK_SECONDS = 0.05


def hold(order_id: str, attempt: int) -> None:
    """Stay while the order's gate is shut: first *attempt* only, at most 60 s."""
    directory = os.environ.get(DIRECTORY_VARIABLE)
    if directory is None or attempt != 1:
        return
    gate = Path(directory)
    if not (gate / f"{order_id}.shut").exists():
        return
    # Renamed into place: whoever sees the file can read a whole number from it.
    held = gate / f"{order_id}.held"
    draft = held.with_suffix(f".{os.getpid()}")
    draft.write_text(str(os.getpid()))
    draft.replace(held)
    try:
        _wait_for(gate / f"{order_id}.open")
    finally:
        held.unlink(missing_ok=True)


def shut(directory: Path, order_id: str) -> None:
    """Hold the order's next first attempt."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{order_id}.shut").touch()


def held_by(directory: Path, order_id: str) -> int | None:
    """Return the id of the process that the order's gate holds now; None if none."""
    try:
        return int((directory / f"{order_id}.held").read_text())
    except FileNotFoundError:
        return None


def open_for_all(directory: Path, order_id: str) -> None:
    """Let whoever the order's gate holds go on."""
    (directory / f"{order_id}.open").touch()


def _wait_for(file: Path) -> None:
    limit = time.monotonic() + _LIMIT_SECONDS
    while not file.exists() and time.monotonic() < limit:
        time.sleep(_LOOK_SECONDS)

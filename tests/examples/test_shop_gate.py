"""The gate holds the first attempt of one order, and nobody else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from examples.shop import gate

pytestmark = pytest.mark.unit


@pytest.fixture
def gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(gate.DIRECTORY_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("order_id", "attempt"), [("SO-2", 1), ("SO-1", 2)])
def test_other_orders_and_later_attempts_pass(
    gates: Path, order_id: str, attempt: int
) -> None:
    gate.shut(gates, "SO-1")

    gate.hold(order_id, attempt)

    assert gate.held_by(gates, order_id) is None


def test_the_first_attempt_is_held_until_the_gate_opens(gates: Path) -> None:
    gate.shut(gates, "SO-1")
    held = threading.Thread(target=gate.hold, args=("SO-1", 1), daemon=True)
    held.start()

    assert appears(gates / "SO-1.held")
    assert gate.held_by(gates, "SO-1") == os.getpid()
    assert held.is_alive()
    gate.open_for_all(gates, "SO-1")
    held.join(timeout=30)
    assert not held.is_alive()


def test_without_a_directory_nothing_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(gate.DIRECTORY_VARIABLE, raising=False)
    gate.shut(tmp_path, "SO-1")

    gate.hold("SO-1", 1)

    assert gate.held_by(tmp_path, "SO-1") is None


def appears(file: Path) -> bool:
    deadline = threading.Event()
    timer = threading.Timer(30, deadline.set)
    timer.start()
    try:
        while not file.exists() and not deadline.wait(0.01):
            pass
        return file.exists()
    finally:
        timer.cancel()

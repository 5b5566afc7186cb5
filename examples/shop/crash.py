"""Kill a worker while one order's step is known to be in mid-body."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from examples.shop import gate, processes
from examples.shop.processes import Service

STEP = "charge_card"
"""The action whose body is held by a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A worker killed in mid-step: whose order, which process, when (monotonic)."""

    order_id: str
    pid: int
    at: float


def kill_held(cluster: Service, gates: Path, order_id: str) -> Crash | None:
    """
    Kill the worker that the order's gate holds, with SIGKILL.

    Return None while the gate holds nobody. A worker outside a step may have a
    lock of the cluster's queues, which would die with it; so only a process of
    the cluster that a gate holds is ever killed.
    """
    pid = gate.held_by(gates, order_id)
    if pid is None or not processes.belongs_to(cluster, pid):
        return None
    os.kill(pid, signal.SIGKILL)
    gate.open_for_all(gates, order_id)
    return Crash(order_id=order_id, pid=pid, at=time.monotonic())

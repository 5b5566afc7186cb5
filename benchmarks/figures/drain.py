"""How fast a real cluster works off a queue."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.measuring import Figure, per_second
from benchmarks.setting import Setting
from benchmarks.workflows import Steps
from saga_flow.models import FlowRun
from saga_flow.states import FlowStatus

RUNS: Final = 1_000
_STEPS: Final = 3
_COMMITS: Final = 5
"""The claim, three steps and the end: the least that such a run commits."""

_DEADLINE: Final = 120
_ROUNDS: Final = 3
_ROOT: Final = Path(__file__).resolve().parents[2]
_GOALS: Final = {
    "sqlite": {"DBOS": "≥ 6"},
    "postgresql": {"DBOS": "≥ 5", "absurd": "≥ 1.8"},
}


def drain(setting: Setting) -> list[Figure]:
    """1,000 queued runs of 3 steps, worked off by a cluster of two workers."""
    raw = setting.raw
    return replace(setting, rounds=min(setting.rounds, _ROUNDS)).beside(
        "drain",
        drained_per_second,
        {
            f"raw commits / {_COMMITS}": lambda: (
                per_second(raw.commit, units=1, seconds=1) / _COMMITS
            ),
            **setting.asked("drain"),
        },
        unit="runs/s",
        goals=_GOALS.get(setting.db),
    )


def drained_per_second() -> float:
    """Runs a second, from the first that ends to the last."""
    for _ in range(RUNS):
        Steps.using().start(_STEPS)
    ended = FlowRun.objects.filter(status=FlowStatus.COMPLETED)
    before = ended.count()
    with _cluster() as cluster:
        began, first = _until(lambda: ended.count() - before, 1, cluster)
        over, _ = _until(lambda: ended.count() - before, RUNS, cluster)
    return (RUNS - first) / (over - began)


def _until(
    count: Callable[[], int], wanted: int, cluster: subprocess.Popen[bytes]
) -> tuple[float, int]:
    """When *count* had come to *wanted*, and what it was then."""
    deadline = time.monotonic() + _DEADLINE
    while (found := count()) < wanted:
        if cluster.poll() is not None:
            raise RuntimeError("The cluster has ended; what it said is above.")
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{found} of {wanted} runs had ended after {_DEADLINE} s. See that no "
                "other cluster works on this database, and that the machine is idle."
            )
        time.sleep(0.02)
    return time.monotonic(), found


@contextlib.contextmanager
def _cluster() -> Iterator[subprocess.Popen[bytes]]:
    """``manage.py qcluster`` on this database, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, str(_ROOT / "manage.py"), "qcluster"],
        cwd=_ROOT,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

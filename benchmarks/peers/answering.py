"""The peer's side: what it is asked, and helpers that need nothing but Python."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

SECONDS: Final = 1.0
RUNS: Final = 1_000
_DEADLINE: Final = 120


def answer(questions: Mapping[str, Callable[[], float]]) -> None:
    """Read a question a line and print its answer, until there are no more."""
    for line in sys.stdin:
        print("answer", questions[line.strip()](), flush=True)


def per_second(work: Callable[[], object], units: int) -> float:
    """How many units a second *work*, which does *units* of them, gets done."""
    done, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < SECONDS:
        work()
        done += units
    return done / spent


def milliseconds(work: Callable[[], object]) -> float:
    """How long *work* takes once."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def drained_per_second(ended: Callable[[], int]) -> float:
    """Runs a second, from the first that ends to the last."""
    began, first = _until(ended, 1)
    over, _ = _until(ended, RUNS)
    return (RUNS - first) / (over - began)


def _until(count: Callable[[], int], wanted: int) -> tuple[float, int]:
    deadline = time.monotonic() + _DEADLINE
    while (found := count()) < wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{found} of {wanted} after {_DEADLINE} s")
        time.sleep(0.02)
    return time.monotonic(), found


def fresh_postgresql(name: str) -> str:
    """Make database *name* anew; its URL."""
    import psycopg  # noqa: PLC0415 - not needed on SQLite

    env = os.environ.get
    user, secret = env("PGUSER", "postgres"), env("PGPASSWORD", "")
    host, port = env("PGHOST", "127.0.0.1"), env("PGPORT", "5432")
    server = f"postgresql://{user}{':' if secret else ''}{secret}@{host}:{port}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{server}/{name}"

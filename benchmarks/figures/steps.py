"""Inline steps, starts, and a whole short run, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection

from benchmarks.measuring import (
    Figure,
    Sample,
    cpu_milliseconds,
    milliseconds,
    per_second,
)
from benchmarks.setting import Setting
from benchmarks.workflows import Steps

SECONDS: Final = 1.0
_STEPS: Final = 100
_SHORT: Final = 10

_STEP_GOALS: Final = {
    "sqlite FULL": {"raw commits": "≥ 0.40", "DBOS": "≥ 8"},
    "sqlite NORMAL": {"DBOS": "≥ 12"},
    "postgresql": {"raw commits": "≥ 0.60", "DBOS": "≥ 7", "absurd": "≥ 1.8"},
}
_START_GOALS: Final = {"DBOS": "≥ 3", "absurd": "≥ 1"}
_CPU_GOALS: Final = {"sqlite": "≤ 0.5 ms", "postgresql": "≤ 0.4 ms"}


def steps(setting: Setting) -> list[Figure]:
    """100 inline steps that do nothing, a second."""
    found: list[Figure] = []
    for level in ("FULL", "NORMAL") if setting.db == "sqlite" else ("",):
        with _synchronous(level):
            found += _steps(setting, f"steps {level}".strip(), level)
    return found


def _steps(setting: Setting, figure: str, level: str) -> list[Figure]:
    raw = setting.raw
    others: dict[str, Sample] = {
        "raw commits": lambda: per_second(raw.commit, units=1, seconds=SECONDS)
    }
    if setting.db == "postgresql":
        others["raw statement"] = lambda: per_second(
            raw.one_statement, units=1, seconds=SECONDS
        )
    found = setting.beside(
        figure,
        lambda: per_second(_run, units=_STEPS, seconds=SECONDS),
        others | setting.asked("steps"),
        unit="steps/s",
        goals=_STEP_GOALS.get(f"{setting.db} {level}".strip()),
    )
    return found + setting.beside(
        f"{figure}, client CPU",
        lambda: cpu_milliseconds(_run, units=_STEPS),
        {"raw commits": lambda: cpu_milliseconds(lambda: _commits(setting), units=500)},
        unit="ms/step",
        goals={"raw commits": _CPU_GOALS.get(setting.db, "")},
    )


def _run() -> None:
    Steps.using().run_sync(_STEPS)


def _commits(setting: Setting) -> None:
    for _ in range(500):
        setting.raw.commit()


@contextmanager
def _synchronous(level: str) -> Iterator[None]:
    """Flush at each commit (FULL), or at checkpoints only (NORMAL); SQLite alone."""
    if not level:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA synchronous = {level}")
        yield
        cursor.execute("PRAGMA synchronous = FULL")


def start(setting: Setting) -> list[Figure]:
    """Starts a second: the run's rows and the message to a cluster, committed."""
    raw = setting.raw
    return setting.beside(
        "start",
        lambda: per_second(lambda: Steps.using().start(1), units=1, seconds=SECONDS),
        {
            "raw commits": lambda: per_second(raw.commit, units=1, seconds=SECONDS),
            **setting.asked("start"),
        },
        unit="starts/s",
        goals=_START_GOALS,
    )


def ten(setting: Setting) -> list[Figure]:
    """Start to end of a run of 10 inline steps: 13 commits, so beside 13 raw ones."""

    def raw() -> None:
        for _ in range(_SHORT + 3):
            setting.raw.commit()

    return setting.beside(
        "run of 10 steps",
        lambda: milliseconds(lambda: Steps.using().run_sync(_SHORT)),
        {"13 raw commits": lambda: milliseconds(raw), **setting.asked("ten")},
        unit="ms",
        goals={"DBOS": "≤ 0.14" if setting.db == "sqlite" else "≤ 0.13"},
    )

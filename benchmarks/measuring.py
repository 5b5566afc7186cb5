"""Samples, taken in turns, and what is told of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

OURS: Final = "Saga Flow"
ROUNDS: Final = 5

Sample = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table: ours beside one other, measured in turns with it."""

    figure: str
    db: str
    ours: float
    unit: str
    beside: str
    theirs: float
    ratio: float
    """Above 1 we are faster, or a cost is as many times the other's."""

    goal: str = ""


def in_turns(contenders: Mapping[str, Sample], rounds: int) -> dict[str, float]:
    """
    The median sample of each contender.

    They take turns, so that what else the machine does hits all of them alike.
    """
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, sample in contenders.items():
            found[name].append(sample())
    return {name: median(samples) for name, samples in found.items()}


def per_second(work: Callable[[], object], *, units: int, seconds: float) -> float:
    """How many units a second *work*, which does *units* of them, gets done."""
    done, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        work()
        done += units
    return done / spent


def milliseconds(work: Callable[[], object]) -> float:
    """How long *work* takes once."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def cpu_milliseconds(work: Callable[[], object], *, units: int) -> float:
    """How much of this process's CPU *work* takes for each of its *units*."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000 / units

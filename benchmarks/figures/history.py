"""What a step costs as history grows."""

from __future__ import annotations

from statistics import median
from typing import Final

from benchmarks.measuring import Figure
from benchmarks.setting import Setting
from benchmarks.workflows import Growing, timings

LENGTHS: Final = (10, 1_000, 10_000)


def history(setting: Setting) -> list[Figure]:
    """A step at a history of 1,000 and 10,000 beside one of the same run at 10."""
    found: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for _ in range(setting.rounds):
        Growing.using().run_sync(list(LENGTHS))
        for length in LENGTHS:
            found[length].append(timings[length] * 1000)
    short, *longer = LENGTHS
    return [
        Figure(
            figure=f"step at history {length:,}",
            db=setting.db,
            ours=median(found[length]),
            unit="ms",
            beside=f"step at history {short}",
            theirs=median(found[short]),
            ratio=median(found[length]) / median(found[short]),
            goal="≤ 1.2",
        )
        for length in longer
    ]

"""
What looks over the rows, so that nothing accepted is ever forgotten.

Each sweep takes one bounded page, the oldest first, re-checks every row under a
guarded write, and reports counts. All may run anywhere, twice and at once: they only
wake, expire or declare what the rows say, and a second one finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from saga_flow import exceptions
from saga_flow.store import leases
from saga_flow.sweeps import deadlines, doctor, due_work, limits, workers
from saga_flow.sweeps.report import SweepReport

Sweep = Callable[[int], SweepReport]

REGISTERED: Final[Mapping[str, Sweep]] = MappingProxyType(
    {
        "due_work": due_work.run,
        "deadlines": deadlines.run,
        "limits": limits.run,
        "workers": workers.run,
        "doctor": doctor.run,
    }
)
"""Every sweep by its name, in the order in which they are best run."""

PAGE: Final = 200
"""Rows that one run of a sweep looks at, unless it is told otherwise."""


def run(name: str, limit: int = PAGE) -> SweepReport:
    """
    Run the sweep *name* over one page.

    Raises UnknownDefinition for a name that is not registered.
    """
    sweep = REGISTERED.get(name)
    if sweep is None:
        raise exceptions.UnknownDefinition(
            f"There is no sweep {name!r}; there are {', '.join(REGISTERED)}."
        )
    return sweep(limit)


def run_and_record(name: str, limit: int = PAGE) -> SweepReport:
    """Run the sweep *name* and note when it ended and what it reported."""
    report = run(name, limit)
    leases.record(name, report.as_json())
    return report

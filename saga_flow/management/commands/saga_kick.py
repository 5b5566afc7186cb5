"""``manage.py saga_kick``: give a run what it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saga_flow import client, queries
from saga_flow.management.base import Report, RunCommand
from saga_flow.records import Target


class Command(RunCommand):
    """Find what an open run is missing, and supply it."""

    help = (
        "Find what an open run is missing (a lost job, a dead lease, a stalled "
        "rollback) and supply it. Never repeats a step that has completed; a run "
        "that misses nothing is left alone."
    )

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Repair, and say how the run stands."""
        report = self.send(client.repair, options)
        if report.refused:
            return report
        run = queries.snapshot(Target(run_id=report.data.run_id))
        told = f"  It is {run.status.value}. {run.wait_reason}".rstrip()
        first, *rest = report.lines
        return replace(report, lines=(first, told, *rest))

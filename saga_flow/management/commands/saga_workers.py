"""``manage.py saga_workers``: who is there to do the work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from saga_flow.management.spans import spoken
from saga_flow.states import LIVE_WORKER
from saga_flow.store import dialect, leases, workers
from saga_flow.store.workers import SILENCE, WorkerFacts

NOBODY = "no worker has reported: run `manage.py qcluster`"
HEAD = ("STATUS", "WORKER", "QUEUE", "UP FOR", "LAST BEAT", "HOLDING")


class Command(BaseCommand):
    """Who is alive, since when, when it last beat, and what it executes."""

    help = "Show the processes that execute sagas. Exit code 1 when none is alive."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--all", action="store_true", help="also those that ended in the last day"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, **options: Any) -> None:
        """Print the workers."""
        found = workers.listing()
        leader = leases.leader()
        live = [each for each in found if each.status in LIVE_WORKER]
        shown = found if options["all"] else live
        if options["json"]:
            rows = [_as_json(each, leader) for each in shown]
            self.stdout.write(json.dumps({"workers": rows}))
        elif shown:
            self._print(shown, leader)
        if not live:
            raise CommandError(NOBODY)

    def _print(self, shown: Sequence[WorkerFacts], leader: UUID | None) -> None:
        now = dialect.read_now()
        rows = [HEAD, *(_cells(each, leader, now) for each in shown)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())


def _cells(each: WorkerFacts, leader: UUID | None, now: datetime) -> tuple[str, ...]:
    name = f"{each.host}:{each.pid}" + (" (leads)" if each.id == leader else "")
    silent = now - each.beat_at
    beat = f"{spoken(silent)} ago"
    if each.status in LIVE_WORKER and silent > SILENCE:
        beat += " (silent)"
    end = each.stopped_at or now
    return (
        each.status.value,
        name,
        each.queue or "-",
        spoken(end - each.started_at),
        beat,
        each.holding or "-",
    )


def _as_json(each: WorkerFacts, leader: UUID | None) -> dict[str, Any]:
    return {
        "id": str(each.id),
        "status": each.status.value,
        "host": each.host,
        "pid": each.pid,
        "queue": each.queue,
        "leads": each.id == leader,
        "holding": each.holding,
        "started_at": each.started_at.isoformat(),
        "beat_at": each.beat_at.isoformat(),
        "stopped_at": each.stopped_at and each.stopped_at.isoformat(),
    }

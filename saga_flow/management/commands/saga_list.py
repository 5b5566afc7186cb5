"""``manage.py saga_list``: which runs there are, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from saga_flow import clock
from saga_flow.management.base import USAGE, OperatorCommand, Report, columns
from saga_flow.management.runs import headline, moment, note, took
from saga_flow.queries import filters, operations, runs
from saga_flow.records import Snapshot

HEAD: Final = ("STATUS", "INSTANCE", "WORKFLOW", "CREATED (UTC)", "TOOK", "")
LIMIT: Final = 20
WIDEST: Final = 100
SEVERAL: Final = frozenset(
    {"status", "closed_reason", "compensation_state", "ids", "tag"}
)
SWITCHES: Final = frozenset({"signalable", "stuck"})
FLAGS: Final = {"version": "--workflow-version"}
"""Django itself takes --version."""


class Command(OperatorCommand):
    """List runs by whatever a filter can ask for."""

    help = "List runs, newest first. Conditions must all hold; repeat --status for any."

    def declare(self, parser: CommandParser) -> None:
        """Declare one option for each name that a filter knows."""
        for name in filters.NAMES:
            how: dict[str, Any] = {"action": "append"} if name in SEVERAL else {}
            if name in SWITCHES:
                how = {"action": "store_true", "default": None}
            parser.add_argument(FLAGS.get(name) or _flag(name), dest=name, **how)
        parser.add_argument("--limit", type=int, default=LIMIT, help=f"default {LIMIT}")

    def answer(self, options: Mapping[str, Any]) -> Report:
        """List what matches."""
        limit = options["limit"]
        if limit < 1:
            raise CommandError(
                f"--limit {limit} is not legal; legal are 1 and up.", returncode=USAGE
            )
        wanted = filters.flow_filter({name: options[name] for name in filters.NAMES})
        size = min(limit, runs.MAX_PAGE)
        found = list(islice(runs.iterate(wanted, size), limit))
        if not found:
            return Report(lines=["No run matches."], data=[])
        total = runs.count(wanted, runs.COUNT_CAP)
        lines = [*columns([HEAD, *_rows(found)]), "", _shown(len(found), total)]
        return Report(lines=lines, data=found)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _rows(found: list[Snapshot]) -> list[tuple[str, ...]]:
    undos = operations.undo_counts(run.run_id for run in found)
    now = clock.now()
    return [
        (
            headline(run, undos.get(run.run_id, {})),
            run.instance_id,
            run.workflow_name,
            moment(run.created_at),
            took(run.started_at, run.closed_at, now),
            note(run)[:WIDEST],
        )
        for run in found
    ]


def _shown(shown: int, total: int) -> str:
    if shown == total:
        return f"{total} run" if total == 1 else f"{total} runs"
    told = f"{runs.COUNT_CAP:,}+" if total > runs.COUNT_CAP else f"{total:,}"
    return f"{shown} of {told} runs; more with --limit"

"""``manage.py saga_show``: one run, told so that a tired operator can read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.management.base import CommandParser

from saga_flow import clock, queries
from saga_flow.management.base import OperatorCommand, Report, columns, located
from saga_flow.management.runs import (
    failure,
    headline,
    moment,
    note,
    step_lines,
    took,
)
from saga_flow.queries import operations
from saga_flow.records import Snapshot

LINES: Final = 10
ROWS: Final = 200


class Command(OperatorCommand):
    """Show a run: header, steps with attempts and undos, waits, journal."""

    help = "Show one run: its steps with attempts and undos, its waits, its journal."

    def declare(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("target", metavar="instance", help="instance id or run id")
        parser.add_argument("--tenant", default="", help="the instance's tenant")
        parser.add_argument(
            "--lines", type=int, default=LINES, help=f"of the journal; default {LINES}"
        )

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Read the run and lay it out."""
        run = queries.snapshot(located(options["target"], options["tenant"]))
        told = _read(run, max(options["lines"], 0))
        return Report(lines=[*_lines(run, told)], data={"run": run, **told})


def _read(run: Snapshot, lines: int) -> dict[str, Any]:
    return {
        "tags": {row.key: row.value for row in queries.tags(run.run_id)},
        "steps": queries.steps(run.run_id, limit=ROWS, payloads=False),
        "attempts": queries.attempts(run.run_id, limit=ROWS),
        "compensations": queries.compensations(run.run_id, limit=ROWS, payloads=False),
        "signals": queries.signals(run.run_id, limit=ROWS, payloads=False),
        "timers": queries.timers(run.run_id, limit=ROWS),
        "children": queries.children(run.run_id, limit=ROWS, payloads=False),
        "journal": queries.history(run.run_id, limit=lines, newest_first=True)[::-1],
    }


def _lines(run: Snapshot, told: Mapping[str, Any]) -> Iterator[str]:
    undos = operations.undo_counts([run.run_id]).get(run.run_id, {})
    yield f"{run.instance_id}  {headline(run, undos)}"
    yield from (f"  {line}" for line in columns(_facts(run, told["tags"])))
    yield from _section("STEPS", list(step_lines(told)), "no step yet")
    yield from _waits(told)
    yield from _journal(told)


def _facts(run: Snapshot, tags: Mapping[str, str]) -> list[tuple[str, str]]:
    version = f", version {run.workflow_version}" if run.workflow_version else ""
    span = took(run.started_at, run.closed_at, clock.now())
    word = "took" if run.closed_at else "so far"
    facts = {
        "run": f"{run.run_id} (number {run.run_number}, revision {run.revision})",
        "workflow": f"{run.workflow_name}{version}",
        "queue": run.queue,
        "created": f"{moment(run.created_at)} UTC"
        + (f", {word} {span}" if span else ""),
        "error": failure(run.error),
        "waits": "" if run.is_terminal else note(run),
        "says": run.status_summary,
        "reason": run.reason,
        "trouble": run.last_error.strip().split("\n")[-1],
        "tags": " ".join(f"{key}={value}" for key, value in tags.items()),
    }
    return [(name, value) for name, value in facts.items() if value]


def _waits(told: Mapping[str, Any]) -> Iterator[str]:
    signals = [
        (
            row.status.value,
            f"{'delivery of' if row.is_delivery else 'wait for'} signal {row.name}",
            f"until {moment(row.timeout_at)}" if row.timeout_at else "",
        )
        for row in told["signals"]
    ]
    timers = [
        (row.status.value, "timer", f"at {moment(row.fire_at)}")
        for row in told["timers"]
    ]
    children = [
        (row.status.value, f"child {row.workflow_name}", str(row.child))
        for row in told["children"]
    ]
    rows = [*signals, *timers, *children]
    if rows:
        yield from _section("SIGNALS, TIMERS, CHILDREN", columns(rows), "")


def _journal(told: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            str(row.sequence),
            moment(row.at),
            row.type,
            "" if row.step is None else f"step {row.step}",
            f"by {row.actor}" if row.actor else "",
        )
        for row in told["journal"]
    ]
    if rows:
        yield from _section("JOURNAL (times in UTC)", columns(rows), "")


def _section(head: str, lines: list[str], empty: str) -> Iterator[str]:
    yield ""
    yield head
    yield from (f"  {line}" for line in lines or [empty])

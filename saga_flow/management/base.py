"""
What the commands of an operator share: ask a door, print, exit.

0 done, 1 refused with the reason, 2 usage: the same for every command.
"""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from saga_flow.exceptions import (
    DefinitionError,
    InvalidFilter,
    SagaFlowError,
)
from saga_flow.records import Answer, Principal, Request, Target

USAGE: Final = 2
_USAGE_ERRORS: Final = (DefinitionError, InvalidFilter)

_SAID: Final[Mapping[str, str]] = {
    "started_new": "Started {0}.",
    "returned_existing_active": "{0} is running already; nothing was started.",
    "signal_received": "The signal was delivered to {0}.",
    "cancelled": "Cancelled {0}. Nothing was undone.",
    "compensating": "Rolling back {0}.",
    "terminated": "Terminated {0}. Nothing was undone.",
    "repair_dispatched": "{0} was missing something; it was sent for.",
    "repair_not_needed": "{0} is missing nothing.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a command prints: lines for people, or data for ``--json``."""

    lines: Sequence[str]
    data: Any
    refused: str = ""
    """Why nothing was done; the exit code is then 1."""


class OperatorCommand(BaseCommand):
    """A command that asks a door and prints the answer."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command's own options, and ``--json``."""
        self.declare(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def declare(self, parser: CommandParser) -> None:
        """Declare the command's own options."""
        raise NotImplementedError

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Ask a door. What it raises becomes the exit code 1, or 2 for usage."""
        raise NotImplementedError

    def handle(self, **options: Any) -> None:
        """Print what the door answered."""
        try:
            report = self.answer(options)
        except SagaFlowError as error:
            code = USAGE if isinstance(error, _USAGE_ERRORS) else 1
            raise CommandError(printable(str(error)), returncode=code) from error
        if options["json"]:
            self.stdout.write(as_json(report.data))
        elif not report.refused:
            self.stdout.write("\n".join(map(printable, report.lines)))
        if report.refused:
            raise CommandError(printable(report.refused))


Door = Callable[[Target, Request], Answer]


class RunCommand(OperatorCommand):
    """A command on one run, named by its instance id or its run id."""

    asks_reason = False

    def declare(self, parser: CommandParser) -> None:
        """Declare how the run is named and why the command is given."""
        parser.add_argument("target", metavar="instance", help="instance id or run id")
        parser.add_argument("--tenant", default="", help="the instance's tenant")
        parser.add_argument(
            "--reason", default="", required=self.asks_reason, help="kept for others"
        )
        parser.add_argument(
            "--revision", type=int, help="refuse if the run is at another revision"
        )

    def send(self, door: Door, options: Mapping[str, Any]) -> Report:
        """Give the command to *door* and report its answer. Raises RunNotFound."""
        target = located(options["target"], options["tenant"])
        return report_of(door(target, request(options)))


def located(text: str, tenant: str = "") -> Target:
    """Return what *text* names. Raises RunNotFound."""
    # the tables can be imported only once the apps are ready
    from saga_flow import queries  # noqa: PLC0415

    return queries.locate(text, tenant)


def request(options: Mapping[str, Any]) -> Request:
    """The circumstances of a command given on the shell."""
    return Request(
        source="cli",
        principal=Principal(type="system", id=_account(), label=_account()),
        reason=options.get("reason", ""),
        expected_revision=options.get("revision"),
        idempotency_key=options.get("idempotency_key"),
    )


def report_of(answer: Answer) -> Report:
    """An answer in a sentence, or its refusal."""
    if not answer.accepted:
        return Report(lines=(), data=answer, refused=answer.message or answer.outcome)
    said = _SAID.get(answer.outcome, "{0}: " + answer.outcome)
    if answer.idempotent and answer.outcome in {"cancelled", "terminated"}:
        said = "{0} had been " + answer.outcome + " before; nothing was changed."
    lines = [said.format(answer.instance_id)]
    lines += [f"  {name}: {value}" for name, value in answer.details.items()]
    lines.append(f"  manage.py saga_show {answer.instance_id}")
    return Report(lines=lines, data=answer)


def from_json(text: str, option: str) -> Any:
    """Return the value that the JSON of *option* stands for; a usage error if none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError(
            f"{option} {text!r} is not JSON: {error}. Text needs its own quotes: "
            f"{option} '\"approved\"'.",
            returncode=USAGE,
        ) from error


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay *rows* out in columns, two spaces apart."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in shown
    ]


def printable(text: str) -> str:
    """*text* with whatever could steer a terminal written out as an escape."""
    return "".join(
        each
        if each.isprintable() or each == "\n"
        else each.encode("unicode_escape").decode()
        for each in text
    )


def as_json(value: Any) -> str:
    """Records as JSON: times in UTC with microseconds, ids as text."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _account() -> str:
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = "unknown"
    return f"{name}@{socket.gethostname()}"[:191]

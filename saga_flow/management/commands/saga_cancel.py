"""``manage.py saga_cancel``: end a run that is no longer wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from saga_flow import client
from saga_flow.management.base import Report, RunCommand


class Command(RunCommand):
    """End a run as cancelled, without undoing or after it."""

    help = (
        "End a run as cancelled. Finished steps stay applied; with --compensate they "
        "are undone first, newest first."
    )
    asks_reason = True

    def declare(self, parser: CommandParser) -> None:
        """Declare the options."""
        super().declare(parser)
        parser.add_argument(
            "--compensate", action="store_true", help="undo the finished steps first"
        )

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Cancel, or roll back."""
        door = client.compensate if options["compensate"] else client.cancel
        return self.send(door, options)

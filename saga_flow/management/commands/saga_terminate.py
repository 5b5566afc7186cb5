"""``manage.py saga_terminate``: close a run by force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saga_flow import client
from saga_flow.management.base import Report, RunCommand


class Command(RunCommand):
    """Close a run by force."""

    help = (
        "Close a run by force, even while it rolls back. No undo runs; what was done "
        "stays applied. To undo, use saga_compensate."
    )
    asks_reason = True

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Terminate."""
        return self.send(client.terminate, options)

"""``manage.py saga_compensate``: undo a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saga_flow import client
from saga_flow.management.base import Report, RunCommand


class Command(RunCommand):
    """Undo the finished steps of a run, then end it as cancelled."""

    help = "Undo the finished steps of a run, newest first; then it is cancelled."
    asks_reason = True

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Roll back."""
        return self.send(client.compensate, options)

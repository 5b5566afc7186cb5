"""News of journal lines, told once they are committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from saga_flow import events
from saga_flow.store import dialect


def announce(run: UUID, lines: Sequence[Mapping[str, Any]]) -> None:
    """Tell whoever listens of journal *lines*, once their transaction commits."""
    if events.wanted():
        tell = partial(events.announce, run, lines)
        transaction.on_commit(tell, using=dialect.alias(), robust=True)

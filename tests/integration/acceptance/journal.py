"""What a journal tells, in short."""

from __future__ import annotations

from typing import Any

from saga_flow.authoring.handle import Handle


def lines(handle: Handle[Any], about: str = "") -> list[tuple[str, int | None]]:
    """Type and step of each journal line whose type begins with *about*."""
    return [
        (line.type, line.step)
        for line in handle.history()
        if line.type.startswith(about)
    ]

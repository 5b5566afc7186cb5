"""Lengths of time as people say them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def spoken(span: timedelta) -> str:
    """*span* in its two largest units: ``2 h 5 min``, ``40 s``, ``0 s``."""
    left = max(0, int(span.total_seconds()))
    parts: list[str] = []
    for seconds, unit in _UNITS:
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"

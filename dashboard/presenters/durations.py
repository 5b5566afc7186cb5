"""Spans of time in words that line up."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def took(start: datetime | None, end: datetime | None, now: datetime) -> str:
    """How long it took, or has taken so far; empty if it has not begun."""
    if start is None:
        return ""
    return duration((end or now) - start)


def duration(span: timedelta) -> str:
    """``12 ms``, ``36.3 s``, ``4 min 12 s``, ``3 h 05 min`` or ``2 d 4 h``."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"

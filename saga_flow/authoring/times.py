"""Moments and limits that people give."""

from __future__ import annotations

from datetime import datetime, timedelta

from saga_flow.exceptions import DefinitionError


def aware(value: object, *, what: str = "the moment of sleep_until()") -> datetime:
    """Return *value* if it is a datetime that knows its offset from UTC."""
    if not isinstance(value, datetime):
        raise DefinitionError(
            f"{what} is {value!r}, of type {type(value).__name__}; it takes an aware "
            "datetime."
        )
    if value.utcoffset() is None:
        raise DefinitionError(
            f"{what} is {value!r}, which has no time zone; use self.now() + a "
            "timedelta, or give it a tzinfo."
        )
    return value


def limit(value: object, *, what: str) -> timedelta | None:
    """Return *value* if it is a length of time, or None: no limit."""
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise DefinitionError(
            f"{what} is {value!r}, of type {type(value).__name__}; it takes a "
            "timedelta, such as timedelta(minutes=5), or None for no limit."
        )
    if value <= timedelta():
        raise DefinitionError(
            f"{what} is {value}; nothing can be done in no time. It takes a timedelta "
            "above zero, or None for no limit."
        )
    return value

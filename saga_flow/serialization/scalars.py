"""The text forms of values that JSON has no kind for, each exact in both ways."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

_DURATION: Final = re.compile(
    r"(?P<sign>-)?P(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,6}))?S)?)?",
    re.ASCII,
)


def _is_lost(offset: timedelta) -> bool:
    """Whether Python reads this offset back as none at all."""
    return timedelta() < abs(offset) < timedelta(seconds=1)


def datetime_text(value: datetime) -> str:
    """Return RFC 3339 with microseconds and offset; a zone's name is not kept."""
    offset = value.utcoffset()
    if offset is None:
        raise ValueError(
            "it has no time zone, so it names no instant; make it aware "
            "(django.utils.timezone.make_aware)"
        )
    if _is_lost(offset):
        value = value.astimezone(UTC)
    return value.isoformat(timespec="microseconds")


def datetime_value(text: str) -> datetime:
    """Return the instant of RFC 3339 *text*."""
    value = datetime.fromisoformat(text)
    if value.utcoffset() is None:
        raise ValueError("it has no offset; write one, e.g. +00:00")
    return value


def time_text(value: time) -> str:
    """Return a time of day, with its fixed offset if it has one."""
    if value.tzinfo is not None and value.utcoffset() is None:
        raise ValueError(
            "the offset of its zone depends on the day; pass a datetime or drop tzinfo"
        )
    offset = value.utcoffset()
    if offset is not None and _is_lost(offset):
        raise ValueError("its offset is less than a second, as no zone's is")
    return value.isoformat(timespec="microseconds")


def duration_text(value: timedelta) -> str:
    """Return an ISO 8601 duration to the microsecond, e.g. ``P1DT2H3M4.000005S``."""
    sign = "-" if value < timedelta(0) else ""
    size = abs(value)
    minutes, seconds = divmod(size.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    whole = f"{seconds}.{size.microseconds:06d}"
    return f"{sign}P{size.days}DT{hours}H{minutes}M{whole}S"


def duration_value(text: str) -> timedelta:
    """Return the timedelta of an ISO 8601 duration in days and smaller units."""
    found = _DURATION.fullmatch(text)
    if found is None or not text[-1].isupper() or text[-1] in "PT":
        raise ValueError("a duration is written like P1DT2H3M4.5S")
    size = timedelta(
        days=int(found["days"] or 0),
        hours=int(found["hours"] or 0),
        minutes=int(found["minutes"] or 0),
        seconds=int(found["seconds"] or 0),
        microseconds=int((found["fraction"] or "").ljust(6, "0")),
    )
    return -size if found["sign"] else size


def decimal_text(value: Decimal) -> str:
    """Return a Decimal digit for digit, trailing zeros and all."""
    if not value.is_finite():
        raise ValueError("only finite numbers can be stored; pass None or a text")
    return str(value)


def decimal_value(text: str) -> Decimal:
    """Return the Decimal of *text*, never rounded to a context."""
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError("it is not a finite number")
    return value


def bytes_text(value: bytes) -> str:
    """Return base64."""
    return b64encode(value).decode("ascii")


def bytes_value(text: str) -> bytes:
    """Return the bytes of base64 *text*."""
    return b64decode(text, validate=True)


WRITERS: Final[Mapping[type, Callable[[Any], str]]] = {
    datetime: datetime_text,
    date: date.isoformat,
    time: time_text,
    timedelta: duration_text,
    Decimal: decimal_text,
    UUID: UUID.__str__,
    bytes: bytes_text,
}
"""By kind; a datetime is also a date, so it stands first. ValueError refuses."""

READERS: Final[Mapping[type, Callable[[str], Any]]] = {
    datetime: datetime_value,
    date: date.fromisoformat,
    time: time.fromisoformat,
    timedelta: duration_value,
    Decimal: decimal_value,
    UUID: UUID,
    bytes: bytes_value,
}
"""By kind. ValueError or ArithmeticError refuses."""

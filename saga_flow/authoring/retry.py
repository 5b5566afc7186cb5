"""When another try is owed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from saga_flow.exceptions import DefinitionError
from saga_flow.records import RetryRule

MAX_ATTEMPTS: Final = 10_000
"""More tries than this are a loop that was meant to be a schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """
    How often the body of an action is tried, and how long apart.

    Try *n* + 1 comes ``delay * backoff ** (n - 1)`` after try *n*, at most *max_delay*
    later, each wait longer or shorter by up to *jitter* of itself. It is stored on the
    step when it is scheduled: a later change of the code does not touch it. Raises
    DefinitionError for a value that makes no sense.
    """

    attempts: int = 1
    """Total tries, the first included."""

    delay: timedelta = timedelta()
    """Before the second try."""

    backoff: float = 2.0
    """What each further wait is multiplied with; at least 1."""

    max_delay: timedelta | None = None
    jitter: float = 0.0
    """From 0 to 1."""

    non_retryable: tuple[type[Exception], ...] = ()
    """Raising one of these, or a subclass, stops at once."""

    retry_on: tuple[type[Exception], ...] = ()
    """If any: only these, and their subclasses, are tried again."""

    def __post_init__(self) -> None:
        _attempts(self.attempts)
        _duration("delay", self.delay)
        if self.max_delay is not None:
            _duration("max_delay", self.max_delay)
            if self.max_delay < self.delay:
                raise DefinitionError(
                    f"Retry(max_delay={self.max_delay}) is shorter than "
                    f"delay={self.delay}; it is the longest wait, so make it at least "
                    "as long."
                )
        _number("backoff", self.backoff, least=1.0, most=math.inf)
        _number("jitter", self.jitter, least=0.0, most=1.0)
        _exceptions("non_retryable", self.non_retryable)
        _exceptions("retry_on", self.retry_on)

    def rule(self) -> RetryRule:
        """Return the policy as it is stored: exceptions by qualified name."""
        return RetryRule(
            attempts=self.attempts,
            delay=self.delay,
            backoff=float(self.backoff),
            max_delay=self.max_delay,
            jitter=float(self.jitter),
            non_retryable=tuple(map(qualified, self.non_retryable)),
            retry_on=tuple(map(qualified, self.retry_on)),
        )


def qualified(kind: type) -> str:
    """Return the name by which a stored rule knows a class: ``module.QualName``."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _attempts(value: object) -> None:
    if type(value) is not int or not 1 <= value <= MAX_ATTEMPTS:
        raise DefinitionError(
            f"Retry(attempts={value!r}): total tries, the first included, are an int "
            f"from 1 to {MAX_ATTEMPTS:,}."
        )


def _duration(name: str, value: object) -> None:
    if not isinstance(value, timedelta):
        raise DefinitionError(
            f"Retry({name}={value!r}) takes a timedelta, such as timedelta(seconds=5)."
        )
    if value < timedelta():
        raise DefinitionError(f"Retry({name}={value}) is negative; it is a wait.")


def _number(name: str, value: object, *, least: float, most: float) -> None:
    legal = isinstance(value, int | float) and not isinstance(value, bool)
    if not legal or not math.isfinite(value) or not least <= value <= most:  # type: ignore[arg-type,operator] # legal narrows
        upper = "" if most == math.inf else f" and at most {most:g}"
        raise DefinitionError(
            f"Retry({name}={value!r}) takes a finite number, at least {least:g}{upper}."
        )


def _exceptions(name: str, value: object) -> None:
    if not isinstance(value, tuple | list):
        raise DefinitionError(
            f"Retry({name}={value!r}) takes a tuple of exception classes, such as "
            f"{name}=(ValueError,)."
        )
    for each in value:
        if not isinstance(each, type) or not issubclass(each, Exception):
            raise DefinitionError(
                f"Retry({name}=...) holds {each!r}; it takes exception classes, "
                "subclasses of Exception."
            )

"""The time limits that ``@action(...)`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from saga_flow.exceptions import DefinitionError
from saga_flow.records import StepRule

LIMITS: Final = ("timeout", "heartbeat_timeout")


def limits(options: Mapping[str, Any], what: str) -> dict[str, timedelta | None]:
    """The limits among *options*. Raises DefinitionError for what is none."""
    return {
        key: duration(options[key], f"{what}({key}={options[key]!r})")
        for key in LIMITS
        if key in options
    }


def duration(value: object, what: str) -> timedelta | None:
    """*value* if it is a limit, or None: no limit. Raises DefinitionError."""
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise DefinitionError(
            f"{what} takes a timedelta, such as timedelta(seconds=30), or None."
        )
    if value <= timedelta():
        raise DefinitionError(
            f"{what} leaves no time at all; take a longer one, or None for no limit."
        )
    return value


def check_limits(rule: StepRule, what: str) -> None:
    """Raise DefinitionError where one limit makes another pointless."""
    if rule.timeout is None or rule.heartbeat_timeout is None:
        return
    if rule.heartbeat_timeout > rule.timeout:
        raise DefinitionError(
            f"{what}(heartbeat_timeout={rule.heartbeat_timeout!r}) can never pass "
            f"within timeout={rule.timeout!r}; take a shorter one, or leave it out."
        )

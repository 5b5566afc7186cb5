"""Whether another attempt is owed, and when. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from saga_flow.exceptions import NonRetryable, ResultNotSerializable
from saga_flow.records import RetryRule

LOST_BUDGET: Final = 3
"""How many attempts the deaths of workers may cost one step."""


_LONGEST_HOLD: Final = timedelta(minutes=5)


def hold_off(attempt: int) -> timedelta:
    """How long to wait after an *attempt* that was kept from beginning."""
    return min(timedelta(seconds=2.0 ** min(attempt - 1, 10)), _LONGEST_HOLD)


def names_of(kind: type[BaseException]) -> frozenset[str]:
    """Qualified names of an exception class and all that it is a kind of."""
    return frozenset(f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__)


def is_retryable(rule: RetryRule, error: BaseException) -> bool:
    """Whether *rule* lets a body that threw *error* be tried again."""
    if isinstance(error, NonRetryable | ResultNotSerializable):
        return False
    names = names_of(type(error))
    if names.intersection(rule.non_retryable):
        return False
    return not rule.retry_on or bool(names.intersection(rule.retry_on))


def delay_after(
    rule: RetryRule, tries: int, jitter: Callable[[], float]
) -> timedelta | None:
    """
    How long to wait after *tries* tries of the body, or None: none is left.

    Tries that a worker's death cut short are not among them. *jitter* gives a number
    from -1 to 1, of which the rule takes its share.
    """
    if tries >= rule.attempts:
        return None
    seconds = rule.delay.total_seconds() * rule.backoff ** max(0, tries - 1)
    if rule.max_delay is not None:
        seconds = min(seconds, rule.max_delay.total_seconds())
    spread = 1 + rule.jitter * jitter() if rule.jitter else 1.0
    return timedelta(seconds=max(0.0, seconds * spread))

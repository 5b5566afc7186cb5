"""A step's options as text: snapshotted when it is scheduled, read when it runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from saga_flow.records import (
    Dispatch,
    LostWorker,
    Membership,
    Redaction,
    RetryRule,
    StepRule,
    Wakes,
)

_SHOWN: Final = Redaction()

_DEFAULT: Final = StepRule()


@lru_cache(maxsize=1024)
def dump_rule(rule: StepRule) -> str:
    """*rule* as JSON; durations in microseconds."""
    retry = rule.retry
    data: dict[str, Any] = {
        "attempts": retry.attempts,
        "lost_worker": rule.lost_worker.value,
    }
    if retry.delay:
        data["delay"] = _microseconds(retry.delay)
        data["backoff"] = retry.backoff
        data["jitter"] = retry.jitter
    inline = rule.dispatch is Dispatch.INLINE
    optional = {
        "max_delay": _microseconds(retry.max_delay),
        "expires_in": _microseconds(rule.expires_in),
        "non_retryable": list(retry.non_retryable) or None,
        "retry_on": list(retry.retry_on) or None,
        "dispatch": None if inline else rule.dispatch.value,
        "queue": rule.queue or None,
        "atomic": rule.atomic or None,
        "timeout": _microseconds(rule.timeout),
        "heartbeat_timeout": _microseconds(rule.heartbeat_timeout),
        "redact": None if rule.redact == _SHOWN else asdict(rule.redact),
    }
    data |= {key: value for key, value in optional.items() if value is not None}
    return json.dumps(data | _of_block(rule.member), separators=(",", ":"))


def _of_block(member: Membership | None) -> dict[str, Any]:
    if member is None:
        return {}
    return {"wakes": member.wakes.value, "limited": member.limited}


_DURATIONS: Final = frozenset({"timeout", "heartbeat_timeout"})


def _retry(step: StepRule) -> dict[str, Any]:
    rule = step.retry
    data: dict[str, Any] = {
        "attempts": rule.attempts,
        "lost_worker": step.lost_worker.value,
    }
    if rule.delay:
        data["delay"] = _microseconds(rule.delay)
        data["backoff"] = rule.backoff
        data["jitter"] = rule.jitter
    if rule.max_delay is not None:
        data["max_delay"] = _microseconds(rule.max_delay)
    if rule.non_retryable:
        data["non_retryable"] = list(rule.non_retryable)
    if rule.retry_on:
        data["retry_on"] = list(rule.retry_on)
    return data


@lru_cache(maxsize=1024)
def load_rule(text: str) -> StepRule:
    """The rule that :func:`dump_rule` wrote. Raises ValueError."""
    data = json.loads(text)
    max_delay, expires_in = data.get("max_delay"), data.get("expires_in")
    return StepRule(
        retry=RetryRule(
            attempts=data.get("attempts", 1),
            delay=timedelta(microseconds=data.get("delay", 0)),
            backoff=data.get("backoff", 2.0),
            jitter=data.get("jitter", 0.0),
            max_delay=_span(max_delay),
            non_retryable=tuple(data.get("non_retryable", ())),
            retry_on=tuple(data.get("retry_on", ())),
        ),
        lost_worker=LostWorker(data.get("lost_worker", LostWorker.RETRY)),
        expires_in=_span(expires_in),
        dispatch=Dispatch(data.get("dispatch", Dispatch.INLINE)),
        queue=data.get("queue", ""),
        atomic=data.get("atomic", False),
        timeout=_span(data.get("timeout")),
        heartbeat_timeout=_span(data.get("heartbeat_timeout")),
        redact=load_redaction(text),
        member=_member(data),
    )


@lru_cache(maxsize=1024)
def load_redaction(text: str) -> Redaction:
    """What of a step is shown to nobody, by its options alone."""
    data = json.loads(text).get("redact")
    if data is None:
        return _SHOWN
    return Redaction(
        arguments=tuple(data["arguments"]),
        undo=tuple(data["undo"]),
        result=data["result"],
    )


def _member(data: dict[str, Any]) -> Membership | None:
    if "wakes" not in data:
        return None
    return Membership(wakes=Wakes(data["wakes"]), limited=data["limited"])


def _span(microseconds: int | None) -> timedelta | None:
    return None if microseconds is None else timedelta(microseconds=microseconds)


def _microseconds(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // timedelta(microseconds=1)

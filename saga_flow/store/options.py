"""A step's options as text: snapshotted when it is scheduled, read when it runs."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import lru_cache
from typing import Any

from saga_flow.records import Dispatch, LostWorker, RetryRule, StepRule


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
    if retry.max_delay is not None:
        data["max_delay"] = _microseconds(retry.max_delay)
    if retry.non_retryable:
        data["non_retryable"] = list(retry.non_retryable)
    if retry.retry_on:
        data["retry_on"] = list(retry.retry_on)
    return json.dumps(data | _how(rule), separators=(",", ":"))


def _how(rule: StepRule) -> dict[str, Any]:
    """Who performs the step, and in what; what is as usual is left out."""
    data: dict[str, Any] = {}
    if rule.dispatch is not Dispatch.INLINE:
        data["dispatch"] = rule.dispatch.value
    if rule.queue:
        data["queue"] = rule.queue
    if rule.atomic:
        data["atomic"] = True
    return data


@lru_cache(maxsize=1024)
def load_rule(text: str) -> StepRule:
    """The rule that :func:`dump_rule` wrote. Raises ValueError or KeyError."""
    data = json.loads(text)
    max_delay = data.get("max_delay")
    return StepRule(
        retry=RetryRule(
            attempts=data["attempts"],
            delay=timedelta(microseconds=data.get("delay", 0)),
            backoff=data.get("backoff", 2.0),
            jitter=data.get("jitter", 0.0),
            max_delay=None if max_delay is None else timedelta(microseconds=max_delay),
            non_retryable=tuple(data.get("non_retryable", ())),
            retry_on=tuple(data.get("retry_on", ())),
        ),
        lost_worker=LostWorker(data["lost_worker"]),
        dispatch=Dispatch(data.get("dispatch", Dispatch.INLINE)),
        queue=data.get("queue", ""),
        atomic=data.get("atomic", False),
    )


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)

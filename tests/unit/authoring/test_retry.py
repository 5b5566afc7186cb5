"""Retry policies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from saga_flow import DefinitionError, Retry
from saga_flow.records import RetryRule


class Outer:
    class Declined(Exception):
        pass


def test_a_policy_is_stored_with_exceptions_by_qualified_name() -> None:
    retry = Retry(
        attempts=5,
        delay=timedelta(seconds=1),
        backoff=3,
        max_delay=timedelta(minutes=1),
        jitter=1,
        non_retryable=(Outer.Declined,),
        retry_on=(OSError,),
    )

    assert retry.rule() == RetryRule(
        attempts=5,
        delay=timedelta(seconds=1),
        backoff=3.0,
        max_delay=timedelta(minutes=1),
        jitter=1.0,
        non_retryable=(f"{__name__}.Outer.Declined",),
        retry_on=("builtins.OSError",),
    )


def test_by_default_a_body_is_tried_once() -> None:
    assert Retry().rule() == RetryRule()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attempts": 0}, r"attempts=0\): total tries"),
        ({"attempts": True}, "attempts=True"),
        ({"attempts": 2.0}, "an int from 1 to 10,000"),
        ({"attempts": 10_001}, "attempts=10001"),
        ({"delay": 5}, r"delay=5\) takes a timedelta"),
        ({"delay": timedelta(seconds=-1)}, "is negative"),
        ({"max_delay": 60}, r"max_delay=60\) takes a timedelta"),
        (
            {"delay": timedelta(seconds=2), "max_delay": timedelta(seconds=1)},
            "is shorter than delay",
        ),
        ({"backoff": 0.5}, "at least 1"),
        ({"backoff": float("inf")}, "finite"),
        ({"backoff": "2"}, "takes a finite number"),
        ({"jitter": 1.5}, "at least 0 and at most 1"),
        ({"jitter": -0.1}, "jitter=-0.1"),
        ({"non_retryable": ValueError}, r"takes a tuple .*non_retryable=\(ValueError,"),
        ({"non_retryable": ("ValueError",)}, "holds 'ValueError'; it takes exception"),
        ({"retry_on": (KeyboardInterrupt,)}, "subclasses of Exception"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError, match=said):
        Retry(**options)

"""The settings that a project is given to start with."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

from saga_flow import presets


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert presets.q_cluster() == {
        "name": "saga_flow",
        "orm": "default",
        "workers": 4,
        "queue_limit": 4,
        "bulk": 1,
        "timeout": 120,
        "retry": 370,
        "max_attempts": 5,
        "ack_failures": True,
        "save_limit": -1,
        "poll": 0.1,
        "guard_cycle": 0.5,
        "recycle": 500,
        "catch_up": False,
    }


@pytest.mark.parametrize(
    "overrides",
    [
        {"workers": 1},
        {"workers": 3, "queue_limit": 10},
        {"timeout": 7},
        {"bulk": 9},
        {"workers": 2, "timeout": 600, "bulk": 5},
    ],
    ids=str,
)
def test_retry_outlasts_everything_that_may_run_before_a_message(
    overrides: dict[str, Any],
) -> None:
    options = presets.q_cluster(**overrides)

    held = options["queue_limit"] + options["bulk"]
    rounds = 1 + ceil(held / options["workers"])
    assert options["retry"] == options["timeout"] * rounds + 10


def test_queue_limit_follows_workers() -> None:
    assert presets.q_cluster(workers=9)["queue_limit"] == 9


def test_options_of_ones_own_are_kept() -> None:
    options = presets.q_cluster(name="payments", retry=5000, label="Jobs")

    assert (options["name"], options["retry"], options["label"]) == (
        "payments",
        5000,
        "Jobs",
    )


def test_naming_redis_drops_the_orm_broker() -> None:
    options = presets.q_cluster(redis={"host": "127.0.0.1"})

    assert "orm" not in options


@pytest.mark.parametrize("name", ["workers", "queue_limit", "bulk", "timeout", "retry"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "4", None, True], ids=repr)
def test_a_count_must_be_a_positive_whole_number(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.*whole number of at least 1"):
        presets.q_cluster(**{name: value})


def test_a_retry_that_runs_jobs_twice_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match=r"retry=369.*at least 370"):
        presets.q_cluster(retry=369)


@pytest.mark.parametrize("value", [0.4, 2, 0, "0.5", True], ids=repr)
def test_a_guard_cycle_that_misses_zero_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"guard_cycle=.*0\.25, 0\.5, 1"):
        presets.q_cluster(guard_cycle=value)


def test_sqlite_is_durable_and_patient_by_default() -> None:
    assert presets.sqlite_options() == {
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }


def test_sqlite_synchronous_may_be_chosen_in_any_case() -> None:
    assert "synchronous=NORMAL" in presets.sqlite_options("normal")["init_command"]


@pytest.mark.parametrize("value", ["OFF", "", "FULL; DROP", 2, None], ids=repr)
def test_another_synchronous_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="FULL, NORMAL, EXTRA"):
        presets.sqlite_options(value)

"""When a leader may call a silent worker dead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from saga_flow import clock
from saga_flow.sweeps import liveness
from saga_flow.sweeps.liveness import Tick, Watch, observe

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def tick(seconds: float, database: float | None = None) -> Tick:
    away = seconds if database is None else database
    return Tick(monotonic=seconds, database=START + timedelta(seconds=away))


def watch(*ticks: Tick) -> Watch:
    found = None
    for each in ticks:
        found = observe(found, each)
    assert found is not None
    return found


def test_ten_seconds_without_a_gap_are_enough() -> None:
    assert watch(*(tick(n) for n in range(11))).sound


def test_less_is_not() -> None:
    assert not watch(*(tick(n) for n in range(10))).sound


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(tick(11.5 + liveness.LONGEST_GAP), id="frozen or cut off"),
        pytest.param(tick(11, 11 + 3600), id="database clock set forward"),
        pytest.param(tick(11, 11 - 3600), id="database clock set back"),
        pytest.param(tick(11, 12.5), id="clocks drifting apart"),
        pytest.param(tick(9), id="ticks out of order"),
    ],
)
def test_whatever_makes_all_seem_silent_begins_a_new_watch(broken: Tick) -> None:
    seen = watch(*(tick(n) for n in range(11)), broken)

    assert seen == Watch(first=broken, last=broken)


def test_ten_seconds_later_it_may_judge_again() -> None:
    jump = [tick(n, n + 3600) for n in range(11, 22)]

    assert watch(*(tick(n) for n in range(11)), *jump).sound


def test_slow_drift_is_noticed_although_each_tick_agrees() -> None:
    drifting = [tick(n, n * 1.05) for n in range(40)]

    assert watch(*drifting).first.monotonic > 0


def test_a_process_that_does_not_lead_may_not_judge() -> None:
    assert not liveness.may_judge()


def test_a_leader_that_has_stopped_ticking_may_not_judge() -> None:
    fake = clock.FakeClock(START)
    with clock.fixed(fake):
        for _ in range(11):
            liveness.note(Tick(monotonic=clock.monotonic(), database=clock.now()))
            fake.advance(timedelta(seconds=1))
        assert liveness.may_judge()
        fake.advance(timedelta(seconds=liveness.LONGEST_GAP))
        assert not liveness.may_judge()
        liveness.note(None)
        assert not liveness.may_judge()

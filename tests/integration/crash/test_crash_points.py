"""
Each story is broken at each of its commits, in each way, and ends as it should.

Exhaustive, not sampled: the fault moves on one commit at a time until the story is
over before it strikes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from saga_flow import clock, holdings
from saga_flow.executors import inline
from saga_flow.store import outbox, workers
from tests.integration.conformance.specimens import (
    ALL,
    Effect,
    Specimen,
    effects_of,
    handle_of,
    ledger,
    rows_of,
)
from tests.integration.crash import stories
from tests.integration.crash.survivors import Survivors
from tests.support.faults import Fault, Kind

# Every vendor commits in its own way; SQLite alone is quick enough for all stories.
EVERYWHERE = frozenset(
    {"approved", "beside", "rolled_back", "slept", "whole_rolled_back"}
)
TOLD = [
    specimen
    for specimen in ALL
    if connection.vendor == "sqlite" or specimen.name in EVERYWHERE
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A story that has been told to its end."""

    essence: dict[str, Any]
    attempts: dict[str, int]
    effects: list[Effect]
    rows: list[str]
    fault: Fault
    in_any_order: bool


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[clock.FakeClock]:
    """A clock that stands still, hints in this process, and nobody at work."""
    monkeypatch.setattr(outbox, "_send", inline.wake)
    monkeypatch.setattr(workers, "_mine", None)
    inline.clear()
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake
    inline.clear()
    holdings.clear()
    ledger.clear()


def _tell(
    specimen: Specimen, time: clock.FakeClock, kind: Kind | None, at: int
) -> Told:
    instance_id = f"{kind.name.lower() if kind else 'undisturbed'}-{at}"
    fault = Fault(kind, at)
    inline.clear()
    Survivors(instance_id, time, fault).play(specimen)
    run = handle_of(instance_id).run_id
    assert not stories.journal_has_gaps(run)
    return Told(
        essence=stories.essence(run, instance_id),
        attempts=stories.attempts(run),
        effects=effects_of(instance_id),
        rows=rows_of(instance_id),
        fault=fault,
        in_any_order=specimen.in_any_order,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize("specimen", TOLD, ids=lambda specimen: specimen.name)
def test_a_story_ends_as_it_should(
    specimen: Specimen, kind: Kind, time: clock.FakeClock
) -> None:
    undisturbed = _tell(specimen, time, None, 0)
    assert not any(effect.late for effect in undisturbed.effects)

    at = 1
    while (told := _tell(specimen, time, kind, at)).fault.struck:
        _check(told, undisturbed, kind, f"{kind.name} at commit {at}")
        at += 1

    assert at > 3


def _check(told: Told, undisturbed: Told, kind: Kind, where: str) -> None:
    assert told.essence == undisturbed.essence, where
    assert told.rows == undisturbed.rows, where
    assert not any(effect.late for effect in told.effects), where
    ordered = stories.phases if told.in_any_order else list
    order, expected_order = map(stories.order, (told.effects, undisturbed.effects))
    assert ordered(order) == ordered(expected_order), where
    # an attempt that no worker lived to record is made again, nothing else is
    spare = 1 if kind.kills else 0
    for body, number in told.attempts.items():
        assert number <= undisturbed.attempts[body] + spare, f"{where}: {body}"
    called, expected = stories.calls(told.effects), stories.calls(undisturbed.effects)
    # what was undone by the database is called again in the same attempt
    undone = stories.whole(told.effects)
    for body, number in called.items():
        most = expected[body] + max(spare, body in undone)
        assert number <= most, f"{where}: {body}"

"""
The same story leaves the same rows, whoever drives it, whatever carries its jobs and
whatever database holds it.

The rows that a story leaves are kept in ``golden/``. They were written on SQLite;
PostgreSQL, where a step commit is one statement, and MariaDB must leave the same.
After a wanted change, write them anew with ``SAGA_WRITE_GOLDEN=1`` and read the diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from saga_flow import clock
from tests.integration.conformance import stages
from tests.integration.conformance.specimens import ALL, Specimen, handle_of
from tests.support.rows import dump
from tests.support.services import Environment

GOLDEN = Path(__file__).parent / "golden"
WRITE = "SAGA_WRITE_GOLDEN"
LEVELS_OF_SEVERAL = {"all_settle", "beside", "beside_later", "beside_stuck"}


@pytest.fixture
def time() -> Iterator[clock.FakeClock]:
    """A clock that stands still."""
    with clock.fixed(clock.FakeClock(timezone.now())) as fake:
        yield fake


@pytest.mark.covers("M-EXE-3", "M-SIDE-2", "M-OPT-4")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("specimen", ALL, ids=lambda specimen: specimen.name)
def test_a_story_leaves_its_rows(specimen: Specimen, time: clock.FakeClock) -> None:
    left = _left_by(stages.on_the_database(), specimen, time)

    golden = _golden(specimen, left["synchronous"])
    assert left == dict.fromkeys(left, golden)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("specimen", ALL, ids=lambda specimen: specimen.name)
def test_a_story_leaves_its_rows_over_redis(
    specimen: Specimen, time: clock.FakeClock, redis_server: Environment
) -> None:
    ways = dict(stages.on_redis(redis_server))
    if specimen.name in LEVELS_OF_SEVERAL:
        # not the sweep but the driver makes up for the lost jobs of a level, which
        # costs it a look more; tests/integration/crash loses them too
        del ways["queued-in-redis-and-lost"]
    left = _left_by(ways, specimen, time)

    assert left == dict.fromkeys(left, _golden(specimen))


def _left_by(
    ways: Mapping[str, stages.Play], specimen: Specimen, time: clock.FakeClock
) -> dict[str, Any]:
    for name, play in ways.items():
        play(specimen, name, time)
    return {name: dump(handle_of(name).run_id) for name in ways}


def _golden(specimen: Specimen, told: Any = None) -> Any:
    file = GOLDEN / f"{specimen.name}.json"
    if told is not None and os.environ.get(WRITE):
        text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False)
        file.write_text(f"{text}\n", encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


# What sits its waits out in the pass, or has none, needs no clock moved by hand.
_UNATTENDED = [
    specimen
    for specimen in ALL
    if not specimen.moves and not specimen.early and not specimen.reserved
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("specimen", _UNATTENDED, ids=lambda specimen: specimen.name)
def test_the_database_s_own_clock_leaves_the_same_rows(specimen: Specimen) -> None:
    specimen.flow.using(instance_id="story").run_sync()

    assert dump(handle_of("story").run_id) == _golden(specimen)


def test_each_specimen_has_its_rows_and_no_rows_are_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == {each.name for each in ALL}

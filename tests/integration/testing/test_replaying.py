"""assert_replays: recorded history against the code of this build."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from saga_flow import SignalTimedOut, Workflow, action, clock
from saga_flow.authoring.handle import Handle
from saga_flow.engine.rehearsal import Recording
from saga_flow.exceptions import DefiniteFailure, DefinitionError, HistoryMismatch
from saga_flow.models import ActionRun
from saga_flow.testing import (
    assert_replays,
    drain,
    fake_action,
    fake_clock,
    isolated_registry,
    recordings,
    run_workflow,
    send_signal,
)
from tests.integration.conformance import stages
from tests.integration.conformance.specimens import ALL, Specimen, handle_of
from tests.integration.testing.recorded import Everything, pay
from tests.integration.testing.shop import Checkout, charge, refund, release, reserve
from tests.support.rows import dump

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with isolated_registry():
        yield


@pytest.mark.parametrize("specimen", ALL, ids=lambda specimen: specimen.name)
def test_every_kind_of_run_replays_and_is_left_as_it_was(specimen: Specimen) -> None:
    with clock.fixed(clock.FakeClock(timezone.now())) as time:
        stages.synchronous(specimen, "story", time)
    run = handle_of("story")
    before = dump(run.run_id)

    assert_replays(specimen.flow, run)

    assert dump(run.run_id) == before


_INTERRUPTED = [specimen for specimen in ALL if specimen.moves]


@pytest.mark.parametrize("specimen", _INTERRUPTED, ids=lambda specimen: specimen.name)
def test_every_kind_of_run_replays_before_it_is_over(specimen: Specimen) -> None:
    start = specimen.flow.using(instance_id="story", **specimen.options)
    with clock.fixed(clock.FakeClock(timezone.now())):
        run = start.run_sync()

    assert_replays(specimen.flow, run)


def test_a_replay_reads_and_writes_nothing_else(half_way: Handle[str]) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert_replays(Checkout, half_way)

    written = [q["sql"] for q in captured if not q["sql"].startswith("SELECT")]
    assert written == []


@pytest.fixture
def half_way() -> Handle[str]:
    """A checkout that has charged and reserved, and waits for a word."""
    with fake_action(charge, returns="ch_1"):
        return run_workflow(Checkout.using(instance_id="story"), "order", 5)


def test_what_has_come_for_a_wait_since_is_not_taken(half_way: Handle[str]) -> None:
    half_way.signal("approval", "no")

    assert_replays(Checkout, half_way)

    assert [signal.status for signal in half_way.signals()][-1] == "received"


@pytest.mark.parametrize("arrives", ["a signal", "its time", "its timeout"])
def test_code_behind_an_open_wait_does_not_run(arrives: str) -> None:
    went_on = []

    class Waiting(Workflow):
        def handle(self) -> None:
            if arrives == "its time":
                self.sleep(timedelta(hours=1))
            else:
                with suppress(SignalTimedOut):
                    self.signal("word", str).wait(timeout=timedelta(hours=1))
            went_on.append(arrives)

    with clock.fixed(clock.FakeClock(timezone.now())) as time:
        run = Waiting.using(instance_id="story").run_sync()
        if arrives == "a signal":
            run.signal("word", "yes")
        else:
            time.advance(timedelta(hours=2))

        assert_replays(Waiting, run)

    assert went_on == []


def test_code_that_asks_for_another_step_is_refused_at_its_ordinal(
    half_way: Handle[str],
) -> None:
    class Reserving(Workflow):
        def handle(self, order: str, cents: int) -> None:
            self.action(reserve, f"{order} {cents}").run()

    with pytest.raises(HistoryMismatch, match=r"action 'testing_helpers.reserve'") as e:
        assert_replays(Reserving, half_way)
    assert (e.value.sequence, e.value.recorded) == (
        0,
        "action 'testing_helpers.charge'",
    )


def test_code_that_ends_too_early_is_refused(half_way: Handle[str]) -> None:
    class Charging(Workflow):
        def handle(self, order: str, cents: int) -> None:
            self.action(charge, order, cents).compensate_with(refund, order).run()

    with pytest.raises(HistoryMismatch, match="the end") as e:
        assert_replays(Charging, half_way)
    assert e.value.sequence == 1


def test_code_that_fails_too_early_is_refused(half_way: Handle[str]) -> None:
    class Failing(Workflow):
        def handle(self, order: str, cents: int) -> None:
            self.action(charge, order, cents).run()
            raise ValueError("too little")

    with pytest.raises(HistoryMismatch, match="too little") as e:
        assert_replays(Failing, half_way)
    assert e.value.sequence == 1
    assert isinstance(e.value.__cause__, ValueError)


def test_code_that_waits_for_nothing_is_refused(half_way: Handle[str]) -> None:
    class Unattended(Workflow):
        def handle(self, order: str, cents: int) -> None:
            self.action(charge, order, cents).run()
            self.action(reserve, order).run()

    with pytest.raises(HistoryMismatch) as e:
        assert_replays(Unattended, half_way)
    assert e.value.sequence == 2


def test_code_that_goes_on_behind_the_end_of_a_completed_run_is_refused(
    half_way: Handle[str],
) -> None:
    class Longer(Workflow):
        def handle(self, order: str, cents: int) -> None:
            self.action(charge, order, cents).run()
            self.action(reserve, order).run()
            self.signal("approval", str).wait()
            self.action(release, order).run()

    assert_replays(Longer, half_way)
    done = send_signal(half_way, Checkout.approval, "yes")

    with pytest.raises(HistoryMismatch, match="the end is recorded") as e:
        assert_replays(Longer, done)
    assert e.value.sequence == 3


def test_an_argument_that_no_longer_fits_is_told(half_way: Handle[str]) -> None:
    class Renamed(Workflow):
        def handle(self, order: str) -> None:
            self.action(charge, order, 1).run()

    with pytest.raises(TypeError, match="Renamed"):
        assert_replays(Renamed, half_way)


def test_nothing_of_the_author_s_runs_again() -> None:
    called = []

    @action
    def once() -> None:
        called.append("action")

    class Once(Workflow):
        def handle(self) -> None:
            self.action(once).run()
            self.side_effect("key", lambda: called.append("side effect"))
            self.sleep(timedelta(hours=1))
            self.side_effect("later", lambda: called.append("later"))
            self.memo(seen=1)

    Once.using(instance_id="story").start()
    drain()

    assert_replays(Once, handle_of("story"))

    assert called == ["action", "side effect"]


def test_history_with_a_gap_is_broken(half_way: Handle[str]) -> None:
    ActionRun.objects.filter(run=half_way.run_id, sequence=0).delete()

    with pytest.raises(DefiniteFailure, match="broken"):
        assert_replays(Checkout, half_way)


HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


@pytest.mark.parametrize("file", HISTORIES, ids=lambda file: file.stem)
def test_histories_of_earlier_builds_replay(file: Path) -> None:
    assert_replays(Everything, file)


@pytest.mark.parametrize("file", HISTORIES, ids=lambda file: file.stem)
def test_histories_of_earlier_builds_refuse_code_that_asks_otherwise(
    file: Path,
) -> None:
    class Reordered(Workflow):
        def handle(self, cents: int, *, ends_well: bool) -> None:
            self.action(pay, cents, self.now()).run()
            self.sleep(timedelta(hours=ends_well))

    with pytest.raises(HistoryMismatch, match="asked for a timer") as e:
        assert_replays(Reordered, json.loads(file.read_text()))
    assert (e.value.sequence, e.value.recorded) == (2, "action 'recorded.fail'")


def test_a_document_reads_as_its_run_does() -> None:
    with fake_clock():
        run = run_workflow(Everything, 1999, ends_well=True)
    name = "recorded.everything"
    document = json.loads("".join(run.export()))

    told = recordings.of_document(document, name)
    read = recordings.of_run(run.run_id, name)

    assert (told.status, told.instance_id, told.run_number) == (
        read.status,
        read.instance_id,
        read.run_number,
    )
    assert _codes(told) == _codes(read)


def _codes(recording: Recording) -> list[object]:
    """What of a recording code gets to see."""
    facts = recording.facts
    return [
        json.loads(recording.arguments or ""),
        [
            (at, s.name, s.status, json.loads(s.result or "null"), s.fallback)
            for at, s in facts.steps.items()
        ],
        [(at, s.name, s.status, s.delivery) for at, s in facts.markers.items()],
        [(at, t.status) for at, t in facts.timers.items()],
        [
            (at, s.kind, s.key, json.loads(s.value or "null"))
            for at, s in facts.side_effects.items()
        ],
    ]


def test_a_document_that_is_no_export_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"handle\.export\(\)"):
        assert_replays(Everything, {"format": "something", "version": 7})

"""
The ways to play a specimen: who drives it, and how it is told that there is work.

Each leaves the same rows. A way that is added here is taken by every specimen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

import pytest

from saga_flow import client, clock, jobs, sweeps
from saga_flow.authoring.handle import Handle
from saga_flow.executors import django_q, inline
from saga_flow.records import Wake
from saga_flow.store import outbox
from tests.integration.conformance.specimens import Specimen, handle_of
from tests.support import brokers
from tests.support.services import Environment

Play: TypeAlias = Callable[[Specimen, str, clock.FakeClock], None]
"""Plays a specimen to its end as one instance, on a clock that it may move."""

A_HINT_IS_LOST: Final = timedelta(seconds=33)
"""By then a row is hinted at again, the first or the second time."""


class _Outside:
    """The people outside, and the time that passes for them."""

    def __init__(self, instance_id: str, time: clock.FakeClock) -> None:
        self.instance_id = instance_id
        self._time = time

    def ask(self, command: Callable[[Handle[Any]], object]) -> None:
        command(handle_of(self.instance_id))

    def pass_time(self, by: timedelta) -> None:
        self._time.advance(by)


class _UnderSweeps(_Outside):
    """As above, with a leader that sweeps."""

    def pass_time(self, by: timedelta) -> None:
        super().pass_time(by)
        for name in ("due_work", "deadlines"):
            sweeps.run(name)


def synchronous(specimen: Specimen, instance_id: str, time: clock.FakeClock) -> None:
    """Whoever started the run drives it; hints are for nobody."""
    stage = _Outside(instance_id, time)
    start = specimen.flow.using(instance_id=instance_id, **specimen.options)
    with _sending(lambda _wake: None):
        if specimen.reserved:
            start.reserve()
        if specimen.early:
            start.start()
        else:
            start.run_sync()
        for move in specimen.early:
            move(stage)
        for move in (_nothing, *specimen.moves):
            move(stage)
            client.drive(handle_of(instance_id).run_id)


def _hinted(
    specimen: Specimen,
    stage: _UnderSweeps,
    work: Callable[[], object],
    send: outbox.Send,
) -> None:
    """Whoever gets a hint drives it; what no hint says, a sweep finds."""
    start = specimen.flow.using(instance_id=stage.instance_id, **specimen.options)
    with _sending(send):
        if specimen.reserved:
            start.reserve()
        start.start()
        for move in specimen.early:
            move(stage)
        for move in (_nothing, *specimen.moves):
            move(stage)
            work()


def hinted(specimen: Specimen, instance_id: str, time: clock.FakeClock) -> None:
    """The inline executor: this process does the work when it is told to."""
    inline.clear()
    work = partial(inline.drain, jobs.execute)
    _hinted(specimen, _UnderSweeps(instance_id, time), work, inline.wake)


def queued(broker: AbstractContextManager[Any]) -> Play:
    """Jobs really go through a *broker*, and django-q2's own functions do them."""

    def play(specimen: Specimen, instance_id: str, time: clock.FakeClock) -> None:
        stage = _UnderSweeps(instance_id, time)
        with broker as opened:
            work = partial(brokers.work_off, opened)
            _hinted(specimen, stage, work, django_q.wake)

    return play


def queued_and_lost(broker: AbstractContextManager[Any]) -> Play:
    """Each job is lost on its way, and made up for by the sweep's next hint."""

    def play(specimen: Specimen, instance_id: str, time: clock.FakeClock) -> None:
        stage = _UnderSweeps(instance_id, time)

        def work() -> None:
            lost = 0
            while brokers.lose(opened):
                # each loss doubles the window of all whose job was in the broker
                stage.pass_time(A_HINT_IS_LOST * 2**lost)
                brokers.work_off_a_round(opened)
                lost += 1

        with broker as opened:
            _hinted(specimen, stage, work, django_q.wake)

    return play


@contextmanager
def _sending(send: Callable[[Wake], None]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "_send", send)
        yield


def _nothing(stage: object) -> None:
    """Before the first move the run is driven, too."""


def on_the_database() -> Mapping[str, Play]:
    """The ways that need nothing but the database."""
    return {
        "synchronous": synchronous,
        "hinted": hinted,
        "queued-in-the-database": queued(brokers.orm()),
    }


def on_redis(server: Environment) -> Mapping[str, Play]:
    """The ways over a Redis *server*, whose jobs are handed out at most once."""
    return {
        "queued-in-redis": queued(brokers.redis(server)),
        "queued-in-redis-and-lost": queued_and_lost(brokers.redis(server)),
    }

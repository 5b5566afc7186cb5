"""Two ways to play a specimen: driven by its caller, or by an executor's hints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from saga_flow import client, clock, jobs, sweeps
from saga_flow.authoring.handle import Handle
from saga_flow.executors import inline
from tests.integration.conformance.specimens import Specimen, handle_of


class Synchronous:
    """Whoever started the run drives it."""

    def __init__(self, instance_id: str, time: clock.FakeClock) -> None:
        self.instance_id = instance_id
        self._time = time

    def ask(self, command: Callable[[Handle[Any]], object]) -> None:
        command(handle_of(self.instance_id))

    def pass_time(self, by: timedelta) -> None:
        self._time.advance(by)

    def play(self, specimen: Specimen) -> None:
        start = specimen.flow.using(instance_id=self.instance_id, **specimen.options)
        if specimen.reserved:
            start.reserve()
        if specimen.early:
            start.start()
        else:
            start.run_sync()
        for move in specimen.early:
            move(self)
        for move in (_nothing, *specimen.moves):
            move(self)
            client.drive(handle_of(self.instance_id).run_id)


class Queued:
    """Whoever gets a hint drives it; what no hint says, a sweep finds."""

    def __init__(self, instance_id: str, time: clock.FakeClock) -> None:
        self.instance_id = instance_id
        self._time = time

    def ask(self, command: Callable[[Handle[Any]], object]) -> None:
        command(handle_of(self.instance_id))

    def pass_time(self, by: timedelta) -> None:
        self._time.advance(by)
        for name in ("due_work", "deadlines"):
            sweeps.run(name)

    def play(self, specimen: Specimen) -> None:
        start = specimen.flow.using(instance_id=self.instance_id, **specimen.options)
        if specimen.reserved:
            start.reserve()
        start.start()
        for move in specimen.early:
            move(self)
        for move in (_nothing, *specimen.moves):
            move(self)
            inline.drain(jobs.execute)


def _nothing(stage: object) -> None:
    """Before the first move the run is driven, too."""


WAYS: Final = (Synchronous, Queued)

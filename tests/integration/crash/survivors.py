"""A stage where one thing goes wrong, and what is left must bring the run home."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, close_old_connections
from django.db.models import Q

from saga_flow import clock, holdings, jobs, sweeps
from saga_flow.authoring.handle import Handle
from saga_flow.executors import inline
from saga_flow.models import ActionRun, FlowRun
from saga_flow.pulse.janitor import Janitor
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.store import repair, workers
from tests.integration.conformance.specimens import Specimen, handle_of
from tests.support.faults import Died, Fault

ROUNDS = 15
ROUND = timedelta(seconds=61)
"""Longer than the silence of a lost worker, a hint's window and a park."""


class Survivors:
    """
    Processes that come and go: whoever dies is replaced, nothing else is repaired.

    Hints are lost with whatever went wrong, so the pulse's means alone, its sweeps and
    its janitor, must find what is owed.
    """

    def __init__(self, instance_id: str, time: clock.FakeClock, fault: Fault) -> None:
        self.instance_id = instance_id
        self._time = time
        self._fault = fault
        self._asked = 0
        self._janitor = Janitor()

    def ask(self, command: Callable[[Handle[Any]], object]) -> None:
        key = self._key()
        self._repeat(
            lambda: command(handle_of(self.instance_id).using(idempotency_key=key))
        )

    def pass_time(self, by: timedelta) -> None:
        self._time.advance(by)

    def play(self, specimen: Specimen) -> None:
        """From the start to the end, with the fault somewhere on the way."""
        _begin_process()
        with self._fault.installed():
            start = specimen.flow.using(
                instance_id=self.instance_id, **specimen.options
            )
            if specimen.reserved:
                reserve = start.using(idempotency_key=self._key())
                self._repeat(reserve.reserve)
            self._repeat(start.using(idempotency_key=self._key()).start)
            for move in specimen.early:
                move(self)
            self.rest()
            for move in specimen.moves:
                move(self)
                self.rest()

    def rest(self) -> None:
        """Do what a cluster does until the run waits for something outside."""
        for _ in range(ROUNDS):
            before = self._fault.struck
            try:
                inline.drain(jobs.execute)
                if not self._at_rest():
                    self._look_over()
            except OperationalError:
                close_old_connections()
            except Died:
                self._die()
            if self._fault.struck and not before:
                inline.clear()
            elif self._at_rest():
                return
            self._time.advance(ROUND)
        run = FlowRun.objects.filter(instance_id=self.instance_id).values().get()
        pytest.fail(f"nobody drives this run any more: {run}")

    def _look_over(self) -> None:
        """What the pulse does: its sweeps, and its janitor at two beats."""
        for name in ("due_work", "deadlines", "doctor"):
            sweeps.run(name)
        me = workers.current()
        if me is not None:
            workers.beat(me)
            self._janitor.look(me)
            self._janitor.look(me)
        inline.drain(jobs.execute)

    def _at_rest(self) -> bool:
        """The run is, and each that it has started."""
        run = FlowRun.objects.get(instance_id=self.instance_id)
        family = [run, *FlowRun.objects.filter(parent=run)]
        return all(map(self._is_at_rest, family))

    def _is_at_rest(self, run: FlowRun) -> bool:
        """Closed; or held by nobody, not due, and waiting for something named."""
        if run.status in FlowStatus.terminal():
            return True
        times = [time for time in (run.wake_at, run.expires_at) if time is not None]
        due = any(time <= self._time.now for time in times)
        idle = run.lease_owner is None and run.status != FlowStatus.CANCELLING
        return idle and not due and not self._owes(run) and not repair.stuck([run.pk])

    def _owes(self, run: FlowRun) -> bool:
        """Whether a queued step is to be performed now, or was begun."""
        steps = ActionRun.objects.filter(run=run, queued=True)
        begun = Q(status=ActionStatus.RUNNING)
        due = Q(status=ActionStatus.PENDING, available_at__lte=self._time.now)
        may_start = run.status in FlowStatus.may_start_work()
        return may_start and steps.filter(begun | due).exists()

    def _repeat(self, request: Callable[[], object]) -> None:
        """A caller who got no answer asks the same again."""
        while True:
            try:
                request()
            except OperationalError:
                close_old_connections()
                inline.clear()
            except Died:
                self._die()
            else:
                return

    def _die(self) -> None:
        """The process is gone; twenty seconds later its worker is declared lost."""
        self._fault.bury()
        inline.clear()
        worker = workers.current()
        self._time.advance(ROUND)
        if worker is not None:
            workers.declare_lost(worker)
        _begin_process()

    def _key(self) -> str:
        self._asked += 1
        return f"{self.instance_id}:{self._asked}"


def _begin_process() -> None:
    """What a new process has in memory: nothing."""
    holdings.clear()
    workers._mine = None

"""The handle of a run: what it is, what became of it, and what is asked of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar, Unpack, cast, overload
from uuid import UUID

from saga_flow import states
from saga_flow.authoring import commands, observing, ports
from saga_flow.authoring.requests import CommandOptions, request
from saga_flow.authoring.signals import Signal
from saga_flow.records import Answer, Request, Snapshot, Target
from saga_flow.states import FlowStatus

T = TypeVar("T")
Rc_co = TypeVar("Rc_co", covariant=True)


class Handle(Generic[Rc_co]):
    """
    One run, as it stood when it was last read.

    Nothing changes until :meth:`refresh`. A following handle then shows the instance's
    current run, a pinned one (``flows.load_run``) stays with its own.
    """

    def __init__(self, target: Target, *, run_id: UUID | None = None) -> None:
        self._target = target
        self._run_id = target.run_id or run_id
        self._snapshot: Snapshot | None = None
        self._request = Request()
        self._timeout: timedelta | None = None

    @classmethod
    def of_answer(cls, answer: Answer, *, tenant: str = "") -> Self:
        """Return the following handle of a start that was accepted."""
        target = Target(instance_id=answer.instance_id, tenant=tenant)
        return cls(target, run_id=answer.run_id)

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot, *, pinned: bool) -> Self:
        """Return the handle of a run that has been read."""
        run_id = snapshot.run_id if pinned else None
        handle = cls(
            Target(
                instance_id=snapshot.instance_id, run_id=run_id, tenant=snapshot.tenant
            )
        )
        handle._run_id, handle._snapshot = snapshot.run_id, snapshot
        return handle

    # ------------------------------------------------------------------ what it is

    @property
    def snapshot(self) -> Snapshot:
        """Everything that was read; it is read now if nothing was yet."""
        if self._snapshot is None:
            self.refresh()
        return cast(Snapshot, self._snapshot)

    @property
    def run_id(self) -> UUID:
        """The run that was last read, or started."""
        return self._run_id or self.snapshot.run_id

    @property
    def instance_id(self) -> str:
        """The id that the run shares with those that continue it."""
        return self._target.instance_id or self.snapshot.instance_id

    @property
    def is_pinned(self) -> bool:
        """Whether it stays with one run."""
        return self._target.run_id is not None

    @property
    def workflow(self) -> str:
        """The workflow's durable name."""
        return self.snapshot.workflow_name

    @property
    def version(self) -> str:
        """The workflow's version at the start."""
        return self.snapshot.workflow_version

    @property
    def run_number(self) -> int:
        """Counts the instance's runs from 1."""
        return self.snapshot.run_number

    @property
    def status(self) -> FlowStatus:
        """Where the run stands (docs/statuses.md)."""
        return self.snapshot.status

    @property
    def status_bucket(self) -> str | None:
        """running, completed or failed; None while it is only reserved."""
        return states.status_bucket(self.status)

    @property
    def status_saga_flow(self) -> str | None:
        """The status in the words of eight."""
        return states.STATUS_SAGA_FLOW[self.status]

    @property
    def status_durable_workflow(self) -> str | None:
        """The status in the words of nine."""
        return states.STATUS_DURABLE_WORKFLOW[self.status]

    @property
    def status_looprig(self) -> str | None:
        """The status in the words of six."""
        return states.STATUS_LOOPRIG[self.status]

    @property
    def closed_reason(self) -> str | None:
        """Why it is closed; None while it is open."""
        return self.snapshot.closed_reason

    @property
    def is_terminal(self) -> bool:
        """Whether it is closed for good."""
        return self.snapshot.is_terminal

    @property
    def revision(self) -> int:
        """Counts what operators decide on; see ``using(expected_revision=…)``."""
        return self.snapshot.revision

    @property
    def compensation_state(self) -> str:
        """How far its rollback has come: none, pending, running, completed, failed."""
        return self.snapshot.compensation_state

    @property
    def status_summary(self) -> str:
        """What the workflow says of itself."""
        return self.snapshot.status_summary

    @property
    def wait_reason(self) -> str:
        """What the engine says that it waits for."""
        return self.snapshot.wait_reason

    @property
    def error(self) -> Mapping[str, Any] | None:
        """What it failed of: type, message and category."""
        return self.snapshot.error

    @property
    def business_key(self) -> str:
        """What it is about, such as ``orders.order:42``."""
        return self.snapshot.business_key

    @property
    def memo(self) -> Mapping[str, Any]:
        """Facts kept with it."""
        return self.snapshot.memo

    @property
    def created_at(self) -> datetime:
        """When it was started or reserved."""
        return self.snapshot.created_at

    @property
    def closed_at(self) -> datetime | None:
        """When it was closed; None while it is open."""
        return self.snapshot.closed_at

    def running(self) -> bool:
        """Whether it is open, and more than reserved."""
        return states.is_running(self.status)

    def completed(self) -> bool:
        """Whether it ended well, or continued as another run."""
        return self.status is FlowStatus.COMPLETED

    def failed(self) -> bool:
        """Whether an error ended it."""
        return self.status is FlowStatus.FAILED

    def cancelled(self) -> bool:
        """Whether it was no longer wanted."""
        return self.status is FlowStatus.CANCELLED

    def terminated(self) -> bool:
        """Whether an operator closed it by force."""
        return self.status is FlowStatus.TERMINATED

    def expired(self) -> bool:
        """Whether its own deadline ended it."""
        return self.status is FlowStatus.EXPIRED

    # ------------------------------------------------------------- what became of it

    def refresh(self) -> Self:
        """Read the run again. Raises RunNotFound."""
        self._snapshot = ports.queries().snapshot(self._target)
        self._run_id = self._snapshot.run_id
        return self

    def output(self) -> Rc_co | None:
        """
        Return the value of a completed run, None of an open one; reads nothing.

        Raises the RunEnded of a run that ended otherwise, or RunContinued.
        """
        if not self.is_terminal:
            return None
        return cast(Rc_co, observing.value(self.snapshot))

    def result(self, timeout: timedelta | None = None) -> Rc_co:
        """
        Wait for the end, then return the value.

        Raises RunFailed, RunCancelled, RunTerminated or RunExpired; RunContinued if a
        pinned run went on as another; ObservationTimeout, which stops nothing.
        """
        return cast(Rc_co, observing.value(self.wait(timeout).snapshot))

    def wait(
        self, timeout: timedelta | None = None, poll: timedelta | None = None
    ) -> Self:
        """
        Wait for the end; look every *poll*, or less and less often without.

        Raises ObservationTimeout, which stops only the waiting, and at once
        RunNotCommitted inside the very transaction that started the run.
        """
        observing.wait(self, self._timeout if timeout is None else timeout, poll)
        return self

    # ---------------------------------------------------------- what is asked of it

    def using(self, **options: Unpack[CommandOptions]) -> Self:
        """Return a copy whose commands carry *options*. Raises UnknownOption, …"""
        other = copy.copy(self)
        vars(other).update(_request=request(options), _timeout=options.get("timeout"))
        return other

    @overload
    def signal(self, signal: Signal[T], payload: T, /) -> Answer: ...
    @overload
    def signal(self, signal: str, payload: object = None, /) -> Answer: ...
    def signal(self, signal: Any, payload: object = None, /) -> Answer:
        """
        Deliver a signal.

        Raises CannotSignalTerminalFlow or CannotSignalCancellingFlow, and
        Unserialisable before anything is written.
        """
        return commands.accepted(self._signal(signal, payload))

    @overload
    def signal_if_running(self, signal: Signal[T], payload: T, /) -> bool: ...
    @overload
    def signal_if_running(self, signal: str, payload: object = None, /) -> bool: ...
    def signal_if_running(self, signal: Any, payload: object = None, /) -> bool:
        """Deliver a signal; return False where the run takes none any more."""
        return commands.taken(self._signal(signal, payload))

    @overload
    def attempt_signal(self, signal: Signal[T], payload: T, /) -> Answer: ...
    @overload
    def attempt_signal(self, signal: str, payload: object = None, /) -> Answer: ...
    def attempt_signal(self, signal: Any, payload: object = None, /) -> Answer:
        """Deliver a signal; a rejection is an answer, no exception."""
        return self._signal(signal, payload)

    def cancel(self) -> Answer:
        """End the run now; nothing is undone. Raises CannotCancelTerminalFlow."""
        return commands.accepted(self.attempt_cancel())

    def attempt_cancel(self) -> Answer:
        """Cancel; a rejection is an answer, no exception."""
        return ports.client().cancel(self._target, self._request)

    def compensate(self) -> Answer:
        """Undo what was done, then close as cancelled. Raises RollbackNotPlannable."""
        return commands.accepted(ports.client().compensate(self._target, self._request))

    def terminate(self) -> Answer:
        """Close by force; nothing is undone."""
        return commands.accepted(self.attempt_terminate())

    def attempt_terminate(self) -> Answer:
        """Terminate; a rejection is an answer, no exception."""
        return ports.client().terminate(self._target, self._request)

    def interrupt(self) -> Answer:
        """Pause the run until it is resumed."""
        return commands.accepted(ports.client().interrupt(self._target, self._request))

    def resume(self, payload: object = None, /) -> Answer:
        """Let an interrupted run go on with *payload*. Raises NotInterrupted."""
        text = commands.resume_payload(payload)
        answer = ports.client().resume(self._target, text, self._request)
        return commands.accepted(answer)

    def repair(self) -> Answer:
        """Send again whatever should be under way for this run and may be lost."""
        return commands.accepted(ports.client().repair(self._target, self._request))

    def archive(self) -> Answer:
        """Put a closed run out of sight."""
        return commands.accepted(ports.client().archive(self._target, self._request))

    # ------------------------------------------------------------- what is recorded

    def history(self) -> tuple[Any, ...]:
        """Its journal."""
        return ports.queries().history(self.run_id)

    def actions(self) -> tuple[Any, ...]:
        """Its steps."""
        return ports.queries().steps(self.run_id)

    def signals(self) -> tuple[Any, ...]:
        """What it waited for, and what was delivered."""
        return ports.queries().signals(self.run_id)

    def timers(self) -> tuple[Any, ...]:
        """Its durable timers."""
        return ports.queries().timers(self.run_id)

    def compensations(self) -> tuple[Any, ...]:
        """Its undos."""
        return ports.queries().compensations(self.run_id)

    def children(self) -> tuple[Any, ...]:
        """Its child runs."""
        return ports.queries().children(self.run_id)

    def commands(self) -> tuple[Any, ...]:
        """What was asked of it, and what was answered."""
        return ports.queries().commands(self.run_id)

    def tags(self) -> tuple[Any, ...]:
        """Its searchable labels."""
        return ports.queries().tags(self.run_id)

    def _signal(self, signal: Any, payload: object) -> Answer:
        name, text = commands.delivery(signal, payload)
        return ports.client().signal(self._target, name, text, self._request)

    def __repr__(self) -> str:
        status = self._snapshot.status if self._snapshot else "not read yet"
        return f"<run {self._run_id} of {self._target.instance_id!r}: {status}>"

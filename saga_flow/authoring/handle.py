"""The handle of a run: what it is, what became of it, and what is asked of it."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any, Generic, Self, TypeVar, Unpack, cast, overload
from uuid import UUID

from saga_flow.authoring import commands, observing, ports
from saga_flow.authoring.observed import Observed
from saga_flow.authoring.requests import CommandOptions, request
from saga_flow.authoring.signals import Signal
from saga_flow.authoring.twins import one_by_one, twin
from saga_flow.records import Answer, Request, Snapshot, Target

T = TypeVar("T")
Rc_co = TypeVar("Rc_co", covariant=True)


class Handle(Observed, Generic[Rc_co]):
    """
    One run, as it stood when it was last read.

    Nothing changes until :meth:`refresh`. A following handle then shows the instance's
    current run, a pinned one (``flows.load_run``) stays with its own.
    """

    def __init__(self, target: Target, *, run_id: UUID | None = None) -> None:
        super().__init__(target, run_id=run_id)
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

    # ------------------------------------------------------------- what became of it

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

    def export(self) -> Iterator[str]:
        """
        Return all of this as one JSON document, in pieces (docs/operations.md).

        However big the run is, the pieces are small. Raises RunNotFound.
        """
        return ports.queries().export(self.run_id)

    # ------------------------------------------------------ the same, asynchronously

    @overload
    async def asignal(self, signal: Signal[T], payload: T, /) -> Answer: ...
    @overload
    async def asignal(self, signal: str, payload: object = None, /) -> Answer: ...
    async def asignal(self, signal: Any, payload: object = None, /) -> Answer:
        """Do what :meth:`signal` does."""
        return await twin(self.signal)(signal, payload)

    @overload
    async def asignal_if_running(self, signal: Signal[T], payload: T, /) -> bool: ...
    @overload
    async def asignal_if_running(
        self, signal: str, payload: object = None, /
    ) -> bool: ...
    async def asignal_if_running(self, signal: Any, payload: object = None, /) -> bool:
        """Do what :meth:`signal_if_running` does."""
        return await twin(self.signal_if_running)(signal, payload)

    @overload
    async def aattempt_signal(self, signal: Signal[T], payload: T, /) -> Answer: ...
    @overload
    async def aattempt_signal(
        self, signal: str, payload: object = None, /
    ) -> Answer: ...
    async def aattempt_signal(self, signal: Any, payload: object = None, /) -> Answer:
        """Do what :meth:`attempt_signal` does."""
        return await twin(self.attempt_signal)(signal, payload)

    async def aexport(self) -> AsyncIterator[str]:
        """Yield what :meth:`export` does; each piece is awaited."""
        async for piece in one_by_one(await twin(self.export)(), 1):
            yield piece

    async def aresult(self, timeout: timedelta | None = None) -> Rc_co:
        """Do what :meth:`result` does, and hold no thread while it waits."""
        return cast(Rc_co, observing.value((await self.await_(timeout)).snapshot))

    async def await_(
        self, timeout: timedelta | None = None, poll: timedelta | None = None
    ) -> Self:
        """Do what :meth:`wait` does, and hold no thread while it waits."""
        limit = self._timeout if timeout is None else timeout
        await observing.await_(self, limit, poll)
        return self

    arefresh = twin(Observed.refresh)
    aoutput = twin(output)
    acancel = twin(cancel)
    aattempt_cancel = twin(attempt_cancel)
    acompensate = twin(compensate)
    aterminate = twin(terminate)
    aattempt_terminate = twin(attempt_terminate)
    ainterrupt = twin(interrupt)
    aresume = twin(resume)
    arepair = twin(repair)
    aarchive = twin(archive)
    ahistory = twin(history)
    aactions = twin(actions)
    asignals = twin(signals)
    atimers = twin(timers)
    acompensations = twin(compensations)
    achildren = twin(children)
    acommands = twin(commands)
    atags = twin(tags)

    def _signal(self, signal: Any, payload: object) -> Answer:
        name, text = commands.delivery(signal, payload)
        return ports.client().signal(self._target, name, text, self._request)

    def __repr__(self) -> str:
        status = self._snapshot.status if self._snapshot else "not read yet"
        return f"<run {self._run_id} of {self._target.instance_id!r}: {status}>"

"""``Workflow``: one plain method, every step of it recorded."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, ParamSpec, TypeVar, Unpack, cast, overload
from uuid import UUID

from saga_flow import clock, names
from saga_flow.authoring import (
    blocks,
    children,
    groups,
    members,
    meta,
    metadata,
    signals,
    times,
)
from saga_flow.authoring.action import Action
from saga_flow.authoring.annotations import returned
from saga_flow.authoring.blocks import FAIL_FAST, Block, Timer
from saga_flow.authoring.children import Child
from saga_flow.authoring.groups import Group
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.members import Member, Step
from saga_flow.authoring.ports import Pass
from saga_flow.authoring.signals import SignalWait
from saga_flow.authoring.start import Handles, Start, StartOptions, starting
from saga_flow.exceptions import NotInWorkflow
from saga_flow.records import Join, RunInfo, UndoPolicy
from saga_flow.states import SideEffectKind

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")


class Workflow:
    """
    The base of every workflow; subclass it and write ``handle()``.

    ``handle()`` is replayed from the top whenever the run goes on, so it must do the
    same each time: it computes, and leaves effects, time and chance to the calls
    below, whose outcomes are recorded. Options stand in an inner ``class Meta``. An
    optional ``status_summary(self) -> str`` tells people how far the run has come.
    """

    _pass: Pass | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        read = meta.read(cls)
        if not read.abstract:
            meta.register(cls, read)

    def handle(self, *args: Any, **kwargs: Any) -> Any:
        """What the workflow does, from first to last."""
        raise NotImplementedError

    # ------------------------------------------------------------- from outside

    @classmethod
    def start(
        cls: type[Handles[P, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Handle[R]:
        """
        Start a run; it joins the caller's transaction.

        Raises WrongArguments, Unserialisable or PayloadTooLarge, before any row is
        written.
        """
        return starting(cls, {}).start(*args, **kwargs)

    @classmethod
    async def astart(
        cls: type[Handles[P, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Handle[R]:
        """Do what :meth:`start` does."""
        return await starting(cls, {}).astart(*args, **kwargs)

    @classmethod
    def using(
        cls: type[Handles[P, R]], /, **options: Unpack[StartOptions]
    ) -> Start[P, R]:
        """Return a start with options. Raises UnknownOption, InvalidName, …"""
        return starting(cls, options)

    # --------------------------------------------------------------- in handle()

    def action(self, f: Action[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Step[R]:
        """Return the step of calling *f*; end it in ``.run()``."""
        return members.step(self._engine("action()"), f, args, kwargs)

    def saga(
        self,
        *members: Member[T],
        on_compensation_failure: UndoPolicy | None = None,
        compensate_in_parallel: bool = False,
        compensate_on_own_failure: bool | None = None,
    ) -> Group[T]:
        """
        Return the group of *members*, run in order; end it in ``.run()``.

        The options hold for every member that says nothing itself. Undone in
        parallel, the undos of all members are one level of the rollback.
        """
        return groups.group(
            self._engine("saga()"),
            members,
            policy=on_compensation_failure,
            on_own_failure=compensate_on_own_failure,
            one_level=compensate_in_parallel,
        )

    def add_compensation(
        self, undo: Action[Q, Any], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> None:
        """
        Have a rollback call *undo*, for something that no step has done.

        It is on record when this returns. Raises DefinitionError for an undo without
        a durable name, WrongArguments or Unserialisable for its arguments.
        """
        engine = self._engine("add_compensation()")
        engine.add_undo(members.added_undo(undo, args, kwargs))

    def compensate(self) -> None:
        """
        Undo everything so far, newest first, and carry on.

        What was undone is in no later rollback. Raises CompensationFailed when an
        undo failed for good, once those are done that its policy lets go on.
        """
        self._engine("compensate()").compensate_all()

    @overload
    def signal(self, name: str, payload: type[T], /) -> SignalWait[T]: ...
    @overload
    def signal(self, name: str, payload: Any = ..., /) -> SignalWait[Any]: ...
    def signal(self, name: str, payload: Any = Any, /) -> SignalWait[Any]:
        """
        Return the wait for a signal; end it in ``.wait(timeout=…)`` or ``.run()``.

        Raises UnknownDefinition when the class declares signals, but not this one.
        """
        self._engine("signal()")
        signals.check_declared(type(self), name)
        return SignalWait(self, name, payload)

    @overload
    def parallel(
        self, a: Member[A], b: Member[B], /, *, policy: Join = ..., limit: int = ...
    ) -> Block[tuple[A, B]]: ...
    @overload
    def parallel(
        self,
        a: Member[A],
        b: Member[B],
        c: Member[C],
        /,
        *,
        policy: Join = ...,
        limit: int = ...,
    ) -> Block[tuple[A, B, C]]: ...
    @overload
    def parallel(
        self,
        a: Member[A],
        b: Member[B],
        c: Member[C],
        d: Member[D],
        /,
        *,
        policy: Join = ...,
        limit: int = ...,
    ) -> Block[tuple[A, B, C, D]]: ...
    @overload
    def parallel(
        self,
        a: Member[A],
        b: Member[B],
        c: Member[C],
        d: Member[D],
        e: Member[E],
        /,
        *,
        policy: Join = ...,
        limit: int = ...,
    ) -> Block[tuple[A, B, C, D, E]]: ...
    @overload
    def parallel(
        self,
        a: Member[A],
        b: Member[B],
        c: Member[C],
        d: Member[D],
        e: Member[E],
        f: Member[F],
        /,
        *,
        policy: Join = ...,
        limit: int = ...,
    ) -> Block[tuple[A, B, C, D, E, F]]: ...
    @overload
    def parallel(
        self, *members: Member[T], policy: Join = ..., limit: int = ...
    ) -> Block[list[T]]: ...
    def parallel(
        self,
        *members: Member[Any],
        policy: Join = FAIL_FAST,
        limit: int | None = None,
    ) -> Block[Any]:
        """
        Return *members* side by side; end it in ``.run()``, which returns a list.

        Steps are jobs of their own, at most *limit* of them in flight. FAIL_FAST
        raises at the first failure, WAIT_ALL once all have settled.
        """
        return blocks.parallel(self._engine("parallel()"), members, policy, limit)

    @overload
    def first(self, a: Member[A], b: Member[B], /) -> Block[tuple[int, A | B]]: ...
    @overload
    def first(
        self, a: Member[A], b: Member[B], c: Member[C], /
    ) -> Block[tuple[int, A | B | C]]: ...
    @overload
    def first(self, *members: Member[T]) -> Block[tuple[int, T]]: ...
    def first(self, *members: Member[Any]) -> Block[Any]:
        """
        Return a block that the first member to settle decides; end it in ``.run()``.

        That returns the member's index and value, or raises what it raised. The rest
        are closed; a step that is running by then goes on, and is undone with the
        run if it completes.
        """
        return blocks.first(self._engine("first()"), members)

    def map(
        self, f: Action[[T], R], items: Iterable[T], /, *, limit: int | None = None
    ) -> list[R]:
        """Return what *f* returned for each of *items*, at most *limit* at a time."""
        pass_ = self._engine("map()")
        steps = [members.step(pass_, f, (item,), {}) for item in items]
        found = blocks.parallel(pass_, steps, FAIL_FAST, limit).run()
        return cast("list[R]", found)

    def timer(self, until: timedelta | datetime, /) -> Timer:
        """Return a sleep that can stand in a block, of a length or until a moment."""
        return blocks.timer(self._engine("timer()"), until)

    def child(
        self,
        flow: type[Handles[P, R]] | Start[P, R],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Child[R]:
        """Return another workflow as a child; end it in ``.run()`` or ``.detach()``."""
        return children.child(self._engine("child()"), flow, args, kwargs)

    def sleep(self, duration: timedelta, /) -> None:
        """Wait for *duration*, however often the process ends meanwhile."""
        members.duration(duration, what="the duration of sleep()")
        self._engine("sleep()").sleep(duration, None)

    def sleep_until(self, moment: datetime, /) -> None:
        """Wait until *moment*, an aware datetime."""
        self._engine("sleep_until()").sleep(None, times.aware(moment))

    def side_effect(self, key: str, fn: Callable[[], T], /) -> T:
        """
        Return what *fn* returned when it was first called; it is recorded under *key*.

        The value comes back by *fn*'s return annotation, and is plain JSON without.
        """
        engine = self._engine("side_effect()")
        names.line(key, what="the key of side_effect()")
        metadata.check_factory(fn)
        annotation = returned(fn, what=f"side effect {key!r}")
        value = engine.side_effect(SideEffectKind.SIDE_EFFECT, key, fn, annotation)
        return cast(T, value)

    def now(self) -> datetime:
        """Return the time when this line was first reached, aware, in UTC."""
        engine = self._engine("now()")
        moment = engine.side_effect(SideEffectKind.NOW, "", clock.now, datetime)
        return cast(datetime, moment)

    def uuid4(self) -> UUID:
        """Return a random UUID, the same on every replay."""
        engine = self._engine("uuid4()")
        return cast(
            UUID, engine.side_effect(SideEffectKind.UUID4, "", uuid.uuid4, UUID)
        )

    def random(self) -> float:
        """Return a number from 0 to below 1, the same on every replay."""
        engine = self._engine("random()")
        number = engine.side_effect(SideEffectKind.RANDOM, "", _CHANCE.random, float)
        return cast(float, number)

    def tag(self, key: str, value: str | None, /) -> None:
        """Set a searchable label of the run; None takes it away."""
        [(key, value)] = names.changed_tags({key: value}, what="tag()").items()
        self._engine("tag()").tag(key, value)

    def memo(self, **values: Any) -> None:
        """
        Keep facts for people to see with the run; None takes one away.

        Raises Unserialisable.
        """
        self._engine("memo()").memo(metadata.memo(values))

    def summary(self, text: str, /) -> None:
        """Say how far the run has come, in at most 1,024 bytes."""
        self._engine("summary()").summary(metadata.text(text, what="summary()"))

    @overload
    def interrupt(self, reason: str, payload: type[T], /) -> T: ...
    @overload
    def interrupt(self, reason: str, payload: Any = ..., /) -> Any: ...
    def interrupt(self, reason: str, payload: Any = Any, /) -> Any:
        """Pause the run until somebody resumes it; return what they sent along."""
        engine = self._engine("interrupt()")
        return engine.interrupt(metadata.text(reason, what="interrupt()"), payload)

    @property
    def info(self) -> RunInfo:
        """What the run is: its ids, number, version and size."""
        return self._engine("info").info

    # --------------------------------------------------------------- the engine's

    def _bind(self, pass_: Pass) -> None:
        self._pass = pass_

    def _engine(self, call: str) -> Pass:
        if self._pass is None:
            raise NotInWorkflow(
                f"{type(self).__qualname__}: self.{call} was called outside a pass. "
                "The engine drives handle() and what it calls; in __init__(), in an "
                "action or anywhere else there is no run to record it in. From "
                "outside, start a run and use its handle."
            )
        return self._pass


_CHANCE = secrets.SystemRandom()

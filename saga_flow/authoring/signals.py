"""Signals: what a workflow waits to be told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, overload

from saga_flow import conf
from saga_flow.authoring.members import Member, duration
from saga_flow.exceptions import DefinitionError, UnknownDefinition
from saga_flow.names import identifier, suggestion
from saga_flow.records import SignalCall

if TYPE_CHECKING:
    from saga_flow.authoring.workflow import Workflow

T = TypeVar("T")


class _Default(Enum):
    """Stands where nothing was said, since None says: no timeout."""

    SETTING = "SIGNAL_TIMEOUT"


class SignalWait(Member[T]):
    """A wait for one delivery of a signal."""

    def __init__(self, workflow: Workflow, name: str, annotation: Any) -> None:
        self._workflow = workflow
        self._name = name
        self._annotation = annotation

    def wait(self, timeout: timedelta | _Default | None = _Default.SETTING) -> T:
        """
        Return the payload of the earliest delivery not yet read.

        One that came before the wait is taken at once. Raises SignalTimedOut when none
        came within *timeout*, by default that of the settings; with None it waits
        for good.
        """
        if isinstance(timeout, _Default):
            timeout = conf.get().SIGNAL_TIMEOUT
        elif timeout is not None:
            duration(timeout, what=f"timeout of the wait for signal {self._name!r}")
        call = replace(self.call(), timeout=timeout)
        what = f"signal {self._name!r}.wait()"
        engine = self._workflow._engine(what)  # noqa: SLF001 - a part of Workflow
        return cast(T, engine.wait_signal(call))

    def run(self) -> T:
        """Wait as long as the settings say, by default for good."""
        return self.wait()

    def call(self) -> SignalCall:
        """Return the wait as a pass takes it."""
        return SignalCall(name=self._name, annotation=self._annotation)


class Signal(Generic[T]):
    """
    A declared signal of a workflow class and the type of its payload.

    A class that declares signals waits for no others.
    """

    name: str = ""

    @overload
    def __init__(self, payload: type[T], /) -> None: ...
    @overload
    def __init__(self: Signal[Any], payload: Any = ..., /) -> None: ...
    def __init__(self, payload: Any = Any, /) -> None:
        self.payload = payload

    def __set_name__(self, owner: type[Any], name: str) -> None:
        # What is wrong with it is said by check_names: an error from here would reach
        # the author wrapped in another one.
        self.name = self.name or name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Signal[T]: ...
    @overload
    def __get__(self, instance: Workflow, owner: type[Any]) -> SignalWait[T]: ...
    def __get__(
        self, instance: Workflow | None, owner: type[Any]
    ) -> Signal[T] | SignalWait[T]:
        """Return the wait inside a workflow, the declaration on its class."""
        if instance is None:
            return self
        return SignalWait(instance, self.name, self.payload)

    def __set__(self, instance: object, value: object) -> NoReturn:
        raise AttributeError(
            f"{self.name!r} is a declared signal and can't be set; its payload comes "
            f"from self.{self.name}.wait()."
        )

    def __repr__(self) -> str:
        return f"<signal {self.name!r}>"


def declared(cls: type[Any]) -> dict[str, Signal[Any]]:
    """Return the signals that *cls* and its bases declare, by name."""
    found = {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, Signal)
    }
    return {name: found[name] for name in found if getattr(cls, name) is found[name]}


def check_names(cls: type[Any]) -> None:
    """Raise DefinitionError for a Signal that is declared under two names."""
    for name, signal in declared(cls).items():
        if signal.name != name:
            raise DefinitionError(
                f"{cls.__qualname__}.{name} is the Signal that is called "
                f"{signal.name!r} already; declare one of its own, {name} = Signal()."
            )


def check_declared(cls: type[Any], name: str) -> None:
    """Raise if *cls* declares signals, but none of this *name*."""
    identifier(name, what="the name of a signal")
    known = declared(cls)
    if known and name not in known:
        raise UnknownDefinition(
            f"{cls.__qualname__} declares no signal {name!r}; it declares "
            f"{', '.join(known)}.{suggestion(name, known)}"
        )

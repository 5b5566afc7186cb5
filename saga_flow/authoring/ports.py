"""
What authoring needs of others, as protocols.

A pass comes from the engine below, with each run that it drives. The two doors stand
above: ``AppConfig.ready()`` binds them, so that ``import saga_flow`` needs no models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured

from saga_flow.records import (
    Answer,
    BlockCall,
    ChildCall,
    Request,
    RunInfo,
    SignalCall,
    Snapshot,
    StartOrder,
    StepCall,
    Target,
)
from saga_flow.states import SideEffectKind

D = TypeVar("D")


class Pass(Protocol):
    """One replay of ``handle()``, as its workflow sees it."""

    @property
    def info(self) -> RunInfo: ...
    @property
    def next_ordinal(self) -> int: ...
    def step(self, call: StepCall, /) -> Any: ...
    def block(self, call: BlockCall, /) -> Any: ...
    def child(self, call: ChildCall, /) -> Any: ...
    def add_undo(self, call: StepCall, /) -> None: ...
    def compensate_all(self) -> None: ...
    def wait_signal(self, call: SignalCall, /) -> Any: ...
    def sleep(self, duration: timedelta | None, until: datetime | None, /) -> None: ...
    def side_effect(
        self,
        kind: SideEffectKind,
        key: str,
        factory: Callable[[], Any],
        annotation: Any,
        /,
    ) -> Any: ...
    def interrupt(self, reason: str, annotation: Any, /) -> Any: ...
    def tag(self, key: str, value: str | None, /) -> None: ...
    def memo(self, values: dict[str, Any], /) -> None: ...
    def summary(self, text: str, /) -> None: ...


class ClientPort(Protocol):
    """The write door; a rejection is an answer, never an exception."""

    def start(self, order: StartOrder, request: Request, /) -> Answer: ...
    def release(self, target: Target, request: Request, /) -> Answer: ...
    def signal(
        self, target: Target, name: str, payload: str, request: Request, /
    ) -> Answer: ...
    def cancel(self, target: Target, request: Request, /) -> Answer: ...
    def compensate(self, target: Target, request: Request, /) -> Answer: ...
    def terminate(self, target: Target, request: Request, /) -> Answer: ...
    def interrupt(self, target: Target, request: Request, /) -> Answer: ...
    def resume(
        self, target: Target, payload: str | None, request: Request, /
    ) -> Answer: ...
    def repair(self, target: Target, request: Request, /) -> Answer: ...
    def archive(self, target: Target, request: Request, /) -> Answer: ...

    def drive(self, run_id: UUID, /) -> None:
        """Drive the run here until it has ended or waits."""

    def raise_for(self, answer: Answer, /) -> None:
        """Raise the CommandRejected that a rejected answer stands for."""

    def uncommitted(self, run_id: UUID, /) -> bool:
        """Whether the caller's own open transaction has made this run."""

    def refuse_inside(self, what: str, /) -> None:
        """Raise InsideTransaction if the caller has a transaction open."""


class RunsPort(Protocol):
    """Lists of runs."""

    def page(self, chosen: Any, cursor: str | None, size: int, /) -> Any: ...
    def count(self, chosen: Any, cap: int | None, /) -> int: ...
    def iterate(self, chosen: Any, /) -> Iterable[Snapshot]: ...


class QueriesPort(Protocol):
    """The read door."""

    @property
    def runs(self) -> RunsPort: ...
    def flow_filter(self, params: Mapping[str, Any], /) -> Any: ...
    def snapshot(self, target: Target, /) -> Snapshot: ...
    def steps(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def signals(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def timers(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def compensations(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def children(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def commands(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def history(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def tags(self, run_id: UUID, /) -> tuple[Any, ...]: ...
    def export(self, run_id: UUID, /) -> Iterator[str]: ...


class _Bound:
    client: ClientPort | None = None
    queries: QueriesPort | None = None


def bind(*, client: ClientPort, queries: QueriesPort) -> None:
    """Let every start, handle and list go through these doors from now on."""
    _Bound.client, _Bound.queries = client, queries


def client() -> ClientPort:
    """Return the write door. Raises ImproperlyConfigured until it is bound."""
    return _ready(_Bound.client)


def queries() -> QueriesPort:
    """Return the read door. Raises ImproperlyConfigured until it is bound."""
    return _ready(_Bound.queries)


def _ready(door: D | None) -> D:
    if door is None:
        raise ImproperlyConfigured(
            "Saga Flow has not started: add 'saga_flow' to INSTALLED_APPS and, outside "
            "manage.py, call django.setup() first."
        )
    return door

"""Stand-ins for the engine's pass and for the two doors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from saga_flow import CommandRejected, FlowStatus, InsideTransaction, RunNotFound
from saga_flow.ids import uuid7
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

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class FakePass:
    """Remembers what a workflow asked of it, and answers with *value*."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.asked: list[tuple[Any, ...]] = []
        self.info = RunInfo(
            run_id=uuid7(),
            instance_id="order-1",
            run_number=1,
            version="2",
            history_size=0,
            should_continue_as_new=False,
        )

    def _answer(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.value

    @property
    def next_ordinal(self) -> int:
        return len(self.asked)

    def child(self, call: ChildCall, /) -> Any:
        raise NotImplementedError(call)

    def add_undo(self, call: StepCall, /) -> None:
        self._answer("add_undo", call)

    def step(self, call: StepCall, /) -> Any:
        return self._answer("step", call)

    def block(self, call: BlockCall, /) -> Any:
        return self._answer("block", call)

    def compensate_all(self) -> None:
        self._answer("compensate_all")

    def wait_signal(self, call: SignalCall, /) -> Any:
        return self._answer("wait_signal", call)

    def sleep(self, duration: timedelta | None, until: datetime | None, /) -> None:
        self._answer("sleep", duration, until)

    def side_effect(
        self,
        kind: SideEffectKind,
        key: str,
        factory: Callable[[], Any],
        annotation: Any,
        /,
    ) -> Any:
        self._answer("side_effect", kind, key, annotation)
        return factory()

    def interrupt(self, reason: str, annotation: Any, /) -> Any:
        return self._answer("interrupt", reason, annotation)

    def tag(self, key: str, value: str | None, /) -> None:
        self._answer("tag", key, value)

    def memo(self, values: dict[str, Any], /) -> None:
        self._answer("memo", values)

    def summary(self, text: str, /) -> None:
        self._answer("summary", text)


@dataclass
class FakeClient:
    """Accepts everything, unless it is told to reject."""

    rejection: str = ""
    inside: bool = False
    uncommitted_runs: set[UUID] = field(default_factory=set)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    run_id: UUID = field(default_factory=uuid7)

    def _answer(self, *call: Any, instance_id: str = "") -> Answer:
        self.calls.append(call)
        if self.rejection:
            return Answer(
                accepted=False,
                outcome=f"rejected_{self.rejection}",
                rejection_reason=self.rejection,
                message="no",
            )
        return Answer(
            accepted=True, outcome="done", run_id=self.run_id, instance_id=instance_id
        )

    def start(self, order: StartOrder, request: Request, /) -> Answer:
        instance_id = order.instance_id or "made-up"
        return self._answer("start", order, request, instance_id=instance_id)

    def release(self, target: Target, request: Request, /) -> Answer:
        return self._answer("release", target, request)

    def signal(
        self, target: Target, name: str, payload: str, request: Request, /
    ) -> Answer:
        return self._answer("signal", target, name, payload, request)

    def cancel(self, target: Target, request: Request, /) -> Answer:
        return self._answer("cancel", target, request)

    def compensate(self, target: Target, request: Request, /) -> Answer:
        return self._answer("compensate", target, request)

    def terminate(self, target: Target, request: Request, /) -> Answer:
        return self._answer("terminate", target, request)

    def interrupt(self, target: Target, request: Request, /) -> Answer:
        return self._answer("interrupt", target, request)

    def resume(
        self, target: Target, payload: str | None, request: Request, /
    ) -> Answer:
        return self._answer("resume", target, payload, request)

    def repair(self, target: Target, request: Request, /) -> Answer:
        return self._answer("repair", target, request)

    def archive(self, target: Target, request: Request, /) -> Answer:
        return self._answer("archive", target, request)

    def drive(self, run_id: UUID, /) -> None:
        self.calls.append(("drive", run_id))

    def raise_for(self, answer: Answer, /) -> None:
        if not answer.accepted:
            raise CommandRejected(
                answer.message, outcome=answer.outcome, reason=answer.rejection_reason
            )

    def uncommitted(self, run_id: UUID, /) -> bool:
        return run_id in self.uncommitted_runs

    def refuse_inside(self, what: str, /) -> None:
        if self.inside:
            raise InsideTransaction(what)


@dataclass(frozen=True)
class FakeFilter:
    """What was asked for."""

    params: Mapping[str, Any]
    signalable: bool = False


class FakeRuns:
    """Lists every run there is, whatever the filter."""

    def __init__(self, snapshots: list[Snapshot]) -> None:
        self._snapshots = snapshots

    def page(self, _chosen: Any, cursor: str | None, _size: int, /) -> Any:
        return SimpleNamespace(items=tuple(self._snapshots), next_cursor=cursor)

    def count(self, _chosen: Any, _cap: int | None, /) -> int:
        return len(self._snapshots)

    def iterate(self, _chosen: Any, /) -> Iterator[Snapshot]:
        return iter(self._snapshots)


class FakeQueries:
    """Holds snapshots; each read of a run takes the next of its script."""

    def __init__(self) -> None:
        self.script: list[Snapshot] = []
        self.targets: list[Target] = []
        self.filters: list[Mapping[str, Any]] = []

    @property
    def runs(self) -> FakeRuns:
        return FakeRuns(self.script)

    def flow_filter(self, params: Mapping[str, Any], /) -> Any:
        self.filters.append(params)
        return FakeFilter(params=params)

    def snapshot(self, target: Target, /) -> Snapshot:
        self.targets.append(target)
        if not self.script:
            raise RunNotFound("no such run")
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _rows(self, name: str, run_id: UUID) -> tuple[Any, ...]:
        return ((name, run_id),)

    def steps(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("steps", run_id)

    def signals(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("signals", run_id)

    def timers(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("timers", run_id)

    def compensations(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("compensations", run_id)

    def children(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("children", run_id)

    def commands(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("commands", run_id)

    def history(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("history", run_id)

    def tags(self, run_id: UUID, /) -> tuple[Any, ...]:
        return self._rows("tags", run_id)

    def export(self, run_id: UUID, /) -> Iterator[str]:
        return iter(["{", str(run_id), "}"])


def snapshot(**changes: Any) -> Snapshot:
    """A run that is waiting, but for *changes*."""
    return replace(_WAITING, **changes)


_WAITING = Snapshot(
    run_id=uuid7(),
    instance_id="order-1",
    tenant="",
    run_number=1,
    is_current=True,
    workflow_name="shop.checkout",
    workflow_version="2",
    status=FlowStatus.WAITING,
    status_bucket="running",
    closed_reason=None,
    closing_as=None,
    compensation_state="none",
    revision=1,
    history_seq=1,
    result=None,
    error=None,
    status_summary="workflow waiting",
    wait_kind="",
    wait_name="",
    wait_reason="",
    last_error="",
    reason="",
    queue="",
    business_key="",
    memo={},
    parent=None,
    lease_owner=None,
    lease_lost=False,
    wake_at=None,
    expires_at=None,
    created_at=NOON,
    started_at=NOON,
    updated_at=NOON,
    closed_at=None,
    archived_at=None,
    successor=None,
)

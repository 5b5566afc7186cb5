"""What ``handle()`` reaches the engine through: one method for each engine call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from saga_flow.engine import blocks, children, compensating, steps, values, waits
from saga_flow.engine.passes import Pass
from saga_flow.engine.staying import Stay
from saga_flow.engine.watching import Watch, engine_call
from saga_flow.records import BlockCall, ChildCall, RunInfo, SignalCall, StepCall
from saga_flow.states import SideEffectKind


class Calls:
    """The engine calls of one pass."""

    def __init__(self, pass_: Pass, watch: Watch, stay: Stay) -> None:
        self._pass = pass_
        self.watch, self.stay = watch, stay

    @property
    def info(self) -> RunInfo:
        return self._pass.info

    @property
    def next_ordinal(self) -> int:
        return self._pass.ordinal

    @engine_call
    def step(self, call: StepCall, /) -> Any:
        return steps.step(self._pass, call)

    @engine_call
    def block(self, call: BlockCall, /) -> Any:
        return blocks.block(self._pass, call)

    @engine_call
    def child(self, call: ChildCall, /) -> Any:
        start = children.detach if call.detached else children.child
        return start(self._pass, call)

    @engine_call
    def add_undo(self, call: StepCall, /) -> None:
        compensating.add(self._pass, call)

    @engine_call
    def compensate_all(self) -> None:
        compensating.compensate(self._pass)

    @engine_call
    def wait_signal(self, call: SignalCall, /) -> Any:
        return waits.wait_signal(self._pass, call)

    @engine_call
    def sleep(self, duration: timedelta | None, until: datetime | None, /) -> None:
        waits.sleep(self._pass, duration, until)

    @engine_call
    def side_effect(
        self,
        kind: SideEffectKind,
        key: str,
        factory: Callable[[], Any],
        annotation: Any,
        /,
    ) -> Any:
        made = self._pass.now if kind is SideEffectKind.NOW else factory
        return values.side_effect(self._pass, kind, key, made, annotation)

    @engine_call
    def interrupt(self, reason: str, annotation: Any, /) -> Any:
        return waits.interrupt(self._pass, reason, annotation)

    @engine_call
    def tag(self, key: str, value: str | None, /) -> None:
        values.tag(self._pass, key, value)

    @engine_call
    def memo(self, said: dict[str, Any], /) -> None:
        values.memo(self._pass, said)

    @engine_call
    def summary(self, text: str, /) -> None:
        self._pass.still_going()
        self._pass.said = text

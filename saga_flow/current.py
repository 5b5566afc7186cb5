"""The step whose body is being executed here and now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from saga_flow import tenancy
from saga_flow.exceptions import NotInStep


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What a body may know of the attempt that it is."""

    run_id: UUID
    instance_id: str
    sequence: int
    """The step's ordinal in its run."""

    attempt: int
    """Counts from 1, the attempts that a worker's death cut short included."""

    idempotency_key: str
    """The same in every attempt; hand it to whatever has the effect."""

    deadline: datetime | None = None
    """When the attempt is over at the latest, or None."""

    tenancy: str | None = field(default=None, repr=False)
    """What was captured of the tenant at the run's start, as it is stored."""

    asks: Callable[[], bool] = field(default=_never, repr=False, compare=False)
    """The engine's answer to :meth:`cancel_requested`."""

    beats: Callable[[Any], bool] | None = field(default=None, repr=False, compare=False)
    """The engine's ear for :meth:`heartbeat`."""

    @property
    def tenancy_context(self) -> Any:
        """What the hook of the host's captured when the run was started, or None."""
        return tenancy.context(self.tenancy)

    def cancel_requested(self) -> bool:
        """Whether the run is no longer wanted, so that a long body may give up."""
        return self.asks()

    def heartbeat(self, progress: Any = None) -> bool:
        """
        Say that the body is alive; return whether it may give up, as asked by a cancel.

        *progress* is a small value for people, of up to 4096 bytes of JSON; None
        leaves what was said before. May be called as often as is convenient: at most
        one write a second comes of it. Raises Unserialisable or PayloadTooLarge, and
        NotInStep in a process that the body forked. An undo's is not recorded.
        """
        return self.asks() if self.beats is None else self.beats(progress)


_current: ContextVar[StepContext | None] = ContextVar("saga_flow_step", default=None)


def current_step() -> StepContext:
    """Return the step that this body is. Raises NotInStep outside a body."""
    step = _current.get()
    if step is None:
        raise NotInStep(
            "current_step() was called outside a step. It is there while the engine "
            "calls an action's body; in a test of the body alone, wrap the call in "
            "saga_flow.testing.step_context()."
        )
    return step


@contextmanager
def executing(step: StepContext) -> Iterator[StepContext]:
    """Make *step* the current one while its body runs."""
    token = _current.set(step)
    try:
        yield step
    finally:
        _current.reset(token)

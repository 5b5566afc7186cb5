"""One attempt of a step or an undo, as it is about to be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from saga_flow.current import StepContext
from saga_flow.engine import together
from saga_flow.records import Claim, Membership, StepRule
from saga_flow.store import history
from saga_flow.store.beats import Beating


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that is about to be made, of a step or of an undo."""

    name: str
    sequence: int
    arguments: str
    rule: StepRule
    attempt: int
    lost_attempts: int
    token: int
    context: StepContext
    now: Callable[[], datetime]
    expires_at: datetime | None = None
    has_undo: bool = False
    queued: bool = False
    bond: together.Bond | None = None
    """Of an atomic one: what commits its outcome with its body."""
    optional: bool = False
    block: int | None = None
    member: Membership | None = None
    deadline: datetime | None = None
    """As its row says; None: a timeout counts from the start of the body."""

    beating: Beating | None = None
    """Under which claim its heartbeats are noted; None: they are not."""


def context_of(
    run: Claim | history.Identity, sequence: int, attempt: int, *, undo: bool = False
) -> StepContext:
    """What a body sees; an undo's idempotency key differs from its step's."""
    return StepContext(
        run_id=run.run,
        instance_id=run.instance_id,
        sequence=sequence,
        attempt=attempt,
        idempotency_key=f"{run.run}:{sequence}" + (":undo" if undo else ""),
        tenancy=run.tenancy,
        # an undo is wanted, whatever becomes of its run
        asks=lambda: not undo and history.is_unwanted(run.run),
    )

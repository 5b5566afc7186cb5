"""The list of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from dashboard.presenters.badges import Badge, badge, rollback_badge
from dashboard.presenters.durations import took
from dashboard.presenters.failures import trouble
from saga_flow.records import Snapshot
from saga_flow.states import (
    RUNNING_BUCKET,
    TERMINAL,
    CompensationStatus,
    FlowStatus,
)

Undos = Mapping[UUID, Mapping[CompensationStatus, int]]
Tags = Mapping[UUID, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One of the lists that has an address of its own."""

    slug: str
    word: str
    look: str
    fixed: Mapping[str, str]
    """The filter that makes this list."""


def _exact(status: FlowStatus) -> View:
    return View(
        slug=status.value,
        word=str(status.label),
        look=status.value,
        fixed={"status": status.value},
    )


VIEWS: Final = {
    view.slug: view
    for view in (
        View(slug="", word="All", look="", fixed={}),
        View(
            slug=RUNNING_BUCKET,
            word="Open",
            look=FlowStatus.RUNNING.value,
            fixed={"status_bucket": RUNNING_BUCKET},
        ),
        *(_exact(status) for status in FlowStatus if status in TERMINAL),
        _exact(FlowStatus.RESERVED),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run of the list."""

    run: Snapshot
    status: Badge
    rollback: Badge | None
    tags: Mapping[str, str]
    note: str
    """One line: what went wrong, what it waits for, or what it says of itself."""

    alarming: bool
    took: str


def row(run: Snapshot, undos: Undos, tags: Tags, now: datetime) -> Row:
    """Lay out one run."""
    failed = trouble(run.error)
    return Row(
        run=run,
        status=badge(run.status),
        rollback=rollback_badge(run.compensation_state, undos.get(run.run_id)),
        tags=tags.get(run.run_id, {}),
        note=failed.headline if failed else note(run),
        alarming=failed is not None or run.lease_lost,
        took=took(run.started_at, run.closed_at, now),
    )


def note(run: Snapshot) -> str:
    """What an open run is at, in a sentence of the engine or of its author."""
    if run.lease_lost:
        return "Its worker was lost; another one takes over."
    if run.wait_reason:
        return run.wait_reason
    plain = f"workflow {run.status}"
    return "" if run.status_summary == plain else run.status_summary


def how_many(count: int, cap: int) -> str:
    """``1 run``, ``312 runs`` or ``10,000+ runs``."""
    if count > cap:
        return f"{cap:,}+ runs"
    return f"{count:,} run" if count == 1 else f"{count:,} runs"

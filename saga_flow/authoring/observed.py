"""What is known of a run: the facts that a handle shows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self, cast
from uuid import UUID

from saga_flow import states
from saga_flow.authoring import ports
from saga_flow.records import Snapshot, Target
from saga_flow.states import FlowStatus


class Observed:
    """One run, as it stood when it was last read."""

    def __init__(self, target: Target, *, run_id: UUID | None = None) -> None:
        self._target = target
        self._run_id = target.run_id or run_id
        self._snapshot: Snapshot | None = None

    def refresh(self) -> Self:
        """Read the run again. Raises RunNotFound."""
        self._snapshot = ports.queries().snapshot(self._target)
        self._run_id = self._snapshot.run_id
        return self

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

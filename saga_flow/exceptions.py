"""
Every error that Saga Flow raises::

    SagaFlowError
    ├── ActionFailed              a step threw and has no attempt left
    ├── ActionExpired             a step missed its own deadline
    ├── CompensationFailed        self.compensate() could not undo everything
    ├── ActionTimedOut            one attempt ran over its limit
    ├── ResultNotSerializable     a step returned what can't be stored
    ├── SignalTimedOut            a wait ran out
    ├── ChildFailed  ChildCancelled
    ├── NonRetryable              raised by a body: no further attempt
    ├── RunEnded                  asked for a result that will never come
    │   ├── RunFailed  RunCancelled  RunTerminated  RunExpired
    ├── RunContinued              the pinned run went on as another one
    ├── CommandRejected           the engine answered a request with no
    │   ├── DuplicateInstance
    │   ├── NotStarted
    │   ├── CannotSignalTerminalFlow  CannotSignalCancellingFlow
    │   ├── CannotCancelTerminalFlow
    │   ├── NotInterrupted
    │   ├── RollbackNotPlannable
    │   └── CommandConflict
    ├── ConflictError             a guarded write found the row moved on
    ├── LimitExceeded             a run would grow over a structural limit
    ├── HistoryMismatch           recorded history and code disagree
    ├── DefiniteFailure           stored facts that nothing can mend
    ├── RunNotFound  RunNotCommitted  ObservationTimeout
    ├── InvalidFilter  InvalidCursor
    ├── CodecRefused              a payload could not be sealed, so not written
    ├── TenancyFailed             the tenant of a run can't be restored here
    ├── NotInStep  NotInWorkflow  InsideTransaction  QueryInHandle
    └── DefinitionError           refused where it is written
        ├── DuplicateName  UnknownOption  UnknownDefinition  InvalidName
        ├── WrongArguments  Unserialisable  PayloadTooLarge
        ├── PayloadNotDecodable  ResultPathMissing
        └── CodecFailed           a sealed payload that can't be opened here

Failures are stored as text and never pickled, so these need not survive a pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError


class SagaFlowError(Exception):
    """The root of every error that this package raises."""


class ActionFailed(SagaFlowError):
    """A step threw and has no attempt left; the same in every mode and pass."""

    def __init__(
        self, *, name: str, sequence: int, type: str, message: str, attempt: int
    ) -> None:
        self.name, self.sequence = name, sequence
        self.type, self.message, self.attempt = type, message, attempt
        super().__init__(
            f"Step {sequence} ({name}) failed at attempt {attempt}: {type}: {message}"
        )


class ActionExpired(SagaFlowError):
    """A step did not reach an outcome before its own deadline."""

    def __init__(self, *, name: str, sequence: int, message: str) -> None:
        self.name, self.sequence, self.message = name, sequence, message
        super().__init__(f"Step {sequence} ({name}) expired: {message}")


class CompensationFailed(SagaFlowError):
    """``self.compensate()`` could not undo everything; the rest of it stays undone."""

    def __init__(self, *, name: str, sequence: int, left: Sequence[int]) -> None:
        self.name, self.sequence, self.left = name, sequence, tuple(left)
        """The undo that failed, the step's ordinal, and all ordinals not undone."""
        super().__init__(
            f"The undo {name} of step {sequence} failed for good; steps "
            f"{', '.join(map(str, left))} are not undone."
        )


class ActionTimedOut(SagaFlowError):
    """One attempt of a step ran over its limit."""


class ResultNotSerializable(SagaFlowError):
    """
    A step returned a value that can't be stored; it is not tried again.

    Its effect stands, unless it is atomic: then it was rolled back.
    """


class SignalTimedOut(SagaFlowError):
    """A wait for a signal ran out before a delivery came."""

    def __init__(self, *, name: str, sequence: int) -> None:
        self.name, self.sequence = name, sequence
        super().__init__(f"No signal {name!r} came in time for the wait at {sequence}.")


class _ChildEnded(SagaFlowError):
    """What both ends of a child without a result have in common."""

    def __init__(
        self,
        *,
        name: str,
        sequence: int,
        run_id: object,
        status: str,
        type: str = "",
        message: str = "",
    ) -> None:
        self.name, self.sequence, self.run_id = name, sequence, run_id
        self.status, self.type, self.message = status, type, message
        told = f": {type}: {message}" if type else ""
        super().__init__(
            f"Child {sequence} ({name}, run {run_id}) ended as {status}{told}"
        )


class ChildFailed(_ChildEnded):
    """A child run ended as failed or expired; ``status`` says which."""


class ChildCancelled(_ChildEnded):
    """A child run ended as cancelled or terminated; ``status`` says which."""


class NonRetryable(SagaFlowError):
    """Raise it in a body, or subclass it, to stop retrying at once."""


class TenancyFailed(SagaFlowError):
    """The hook of the host's could not restore the tenant of a run."""


class RunEnded(SagaFlowError):
    """A result was asked of a run that ended without one."""

    def __init__(
        self,
        *,
        instance_id: str,
        run_id: object,
        status: str,
        reason: str = "",
        error: dict[str, Any] | None = None,
    ) -> None:
        self.instance_id, self.run_id, self.status = instance_id, run_id, status
        self.reason, self.error = reason, error
        told = f": {error['type']}: {error['message']}" if error else ""
        super().__init__(f"Run {run_id} of {instance_id!r} ended as {status}{told}")


class RunFailed(RunEnded):
    """The run ended as failed."""


class RunCancelled(RunEnded):
    """The run ended as cancelled."""


class RunTerminated(RunEnded):
    """The run was force-closed."""


class RunExpired(RunEnded):
    """The run's own deadline was enforced."""


class RunContinued(SagaFlowError):
    """The run that this handle is pinned to continued as *successor*."""

    def __init__(self, *, run_id: object, successor: object) -> None:
        self.run_id, self.successor = run_id, successor
        super().__init__(f"Run {run_id} continued as run {successor}.")


class CommandRejected(SagaFlowError):
    """A request was refused; ``outcome`` and ``reason`` are stable words."""

    def __init__(self, message: str, *, outcome: str, reason: str) -> None:
        self.outcome, self.reason = outcome, reason
        super().__init__(message)


class DuplicateInstance(CommandRejected):
    """A run with this instance id is there already."""


class NotStarted(CommandRejected):
    """The instance is only reserved."""


class CannotSignalTerminalFlow(CommandRejected):
    """The run is closed and takes no signal."""


class CannotSignalCancellingFlow(CommandRejected):
    """The run is rolling back and takes no signal."""


class CannotCancelTerminalFlow(CommandRejected):
    """The run is closed; there is nothing to cancel."""


class NotInterrupted(CommandRejected):
    """Only an interrupted run can be resumed."""


class RollbackNotPlannable(CommandRejected):
    """An undo can't be resolved in this process; nothing was changed."""


class CommandConflict(CommandRejected):
    """The run is in a state, or moved to one, that this command can't act on."""


class ConflictError(SagaFlowError):
    """A guarded write found that the row had moved on; nothing was written."""

    REASONS = frozenset(
        {
            "stale_revision",
            "illegal_transition",
            "lease_lost",
            "identity_changed",
            "history_backwards",
            "cursor_backwards",
            "clock_backwards",
            "completed_before_cancel",
            "conflict_attempts_exhausted",
        }
    )

    def __init__(
        self, *, run_id: object, reason: str, status: str = "", wanted: str = ""
    ) -> None:
        if reason not in self.REASONS:
            raise ValueError(f"{reason!r} is not one of {sorted(self.REASONS)}.")
        self.run_id, self.reason = run_id, reason
        self.status, self.wanted = status, wanted
        told = f" It is {status}" if status else ""
        wish = f"; wanted: {wanted}." if wanted else "."
        super().__init__(f"Run {run_id} was not changed: {reason}.{told}{wish}")


class LimitExceeded(SagaFlowError):
    """A run would grow over a structural limit; nothing of the excess is written."""

    def __init__(self, *, what: str, limit: str, value: int, count: int) -> None:
        self.limit, self.value, self.count = limit, value, count
        super().__init__(
            f"{what} would come to {count:,}; the limit is {value:,} "
            f"(SAGA_FLOW[{limit!r}]). Split the work into several runs, or raise the "
            "limit; 0 switches it off."
        )


class HistoryMismatch(SagaFlowError):
    """Recorded history and this build's code disagree at an ordinal."""

    def __init__(
        self, *, run_id: object, sequence: int, recorded: str, requested: str
    ) -> None:
        self.run_id, self.sequence = run_id, sequence
        self.recorded, self.requested = recorded, requested
        super().__init__(
            f"Run {run_id} asked for {requested} at ordinal {sequence}, but "
            f"{recorded} is recorded there. The workflow's code has probably changed "
            "while this run was open: deploy code that matches, then resume the run."
        )


class DefiniteFailure(SagaFlowError):
    """Stored facts are missing or contradictory; no retry can mend them."""


class RunNotFound(SagaFlowError):
    """No run has this id."""


class InvalidFilter(SagaFlowError, ValueError):
    """A list was asked for with a filter name or value that does not exist."""


class InvalidCursor(SagaFlowError, ValueError):
    """A page was asked for with a cursor that does not belong to its list."""


class RunNotCommitted(SagaFlowError):
    """This transaction has not committed the run, so nobody can drive it yet."""


class ObservationTimeout(SagaFlowError):
    """Waiting stopped; the run goes on. Nothing was cancelled or written."""

    def __init__(self, *, instance_id: str, run_id: object, status: str) -> None:
        self.instance_id, self.run_id, self.status = instance_id, run_id, status
        super().__init__(
            f"Run {run_id} of {instance_id!r} is still {status}; only the waiting "
            "stopped. Load the handle again to go on observing."
        )


class NotInStep(SagaFlowError):
    """There is no current step here."""


class NotInWorkflow(SagaFlowError):
    """An engine call was made outside a pass of its workflow."""


class InsideTransaction(SagaFlowError):
    """A pass can't be driven inside an open transaction of the host."""


class QueryInHandle(SagaFlowError):
    """``handle()`` made a database query of its own."""


class DefinitionError(SagaFlowError):
    """Something was refused where it is written, before any row exists."""


class DuplicateName(DefinitionError):
    """Two definitions claim one durable name."""


class UnknownOption(DefinitionError):
    """An option that does not exist was given."""


class UnknownDefinition(DefinitionError):
    """No workflow or action is registered under this name in this process."""


class InvalidName(DefinitionError):
    """A durable name, instance id, tag or key is ill-formed or too long."""


class WrongArguments(DefinitionError, TypeError):
    """The arguments don't fit the signature."""


class Unserialisable(DefinitionError, TypeError):
    """A value can't be stored; ``path`` says where it stands."""

    def __init__(self, *, path: str, value_type: str, message: str) -> None:
        self.path, self.value_type = path, value_type
        super().__init__(message)


class PayloadTooLarge(DefinitionError, ValueError):
    """A payload is over the limit; sizes in bytes of UTF-8."""

    def __init__(self, *, path: str, size: int, limit: int) -> None:
        self.path, self.size, self.limit = path, size, limit
        super().__init__(
            f"{path} takes {size:,} bytes as JSON; the limit is {limit:,}. Store the "
            "data elsewhere and pass a key to it."
        )


class PayloadNotDecodable(DefinitionError, ValueError):
    """A stored payload can't be read back as its annotation wants."""


class CodecFailed(PayloadNotDecodable):
    """A sealed payload can't be opened in this process; a deploy can mend it."""


class CodecRefused(SagaFlowError, DatabaseError):
    """The codec could not seal a payload, so it was not written."""


class ResultPathMissing(DefinitionError, LookupError):
    """``RESULT[...]`` names a part that the step's result does not have."""

"""
Commands on a run (rows 16–20, 22, 44), each one guarded transaction with its row.

A command whose guard matches nothing raises Refused and leaves nothing; the client
then reads the run once and says why (docs/operations.md, "Answers").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from saga_flow import structural
from saga_flow.models import ActionRun, FlowRun, FlowSignal, SideEffect
from saga_flow.records import Line, Snapshot, Wake, Wanted
from saga_flow.serialization.bounded import bounded
from saga_flow.states import (
    ActionStatus,
    FlowStatus,
    Intent,
    SideEffectKind,
    SignalStatus,
)
from saga_flow.store import (
    children,
    command_rows,
    dialect,
    guards,
    hints,
    journal,
    outbox,
    settlement,
    unfinished,
)
from saga_flow.store.command_rows import REASON_BYTES, Command
from saga_flow.store.dialect import Sql
from saga_flow.store.sql import FromRun, Insert, RunUpdate, guard, run_statement
from saga_flow.store.transaction import Refused, atomic, retried

_ROUNDS: Final = 3
_SUSPENDED: Final = frozenset({FlowStatus.RUNNING, FlowStatus.WAITING})


class TooManyPending(Exception):
    """The run holds as many unread deliveries as it may."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(count)


def actor(command: Command) -> str:
    """Who asked, as a journal line says it."""
    return str(command.request.principal) or command.request.source


def told(command: Command, **data: Any) -> Line:
    """The journal line of a command."""
    reason = bounded(command.request.reason, REASON_BYTES)
    if reason:
        data["reason"] = reason
    return journal.line(f"command.{command.type}", actor=actor(command), **data)


def intent_of(command: Command) -> dict[str, Any]:
    """Durable intent: who wanted the run ended, when and why."""
    principal = command.request.principal
    return {
        "cancel_requested_at": dialect.now(),
        "reason": bounded(command.request.reason, REASON_BYTES),
        "principal_type": principal.type,
        "principal_id": principal.id,
        "principal_label": principal.label,
    }


def _write(
    command: Command,
    run: Snapshot,
    update: RunUpdate,
    then: Callable[[], Sequence[Line]],
    wakes: Sequence[Wake] = (),
    last: Callable[[], None] | None = None,
) -> None:
    """Command row, guard, what *then* does and says, journal, wakes: one commit."""

    def attempt() -> None:
        with atomic():
            command_rows.write(command, run.run_id, run.instance_id)
            guard(update)
            command_rows.number(command, run.run_id)
            for statement in journal.insert(run.run_id, then()):
                run_statement(run.run_id, statement)
            if last is not None:
                last()
            for wake in wakes:
                outbox.send(wake)

    retried(attempt)


def _revision(command: Command) -> tuple[Sql, ...]:
    return guards.revision_is(command.request.expected_revision)


def _drive(run: Snapshot) -> Wake:
    return Wake(kind=Wanted.DRIVE, id=str(run.run_id), queue=run.queue)


def cancel(command: Command, run: Snapshot) -> None:
    """Row 16: end the run now, undoing nothing; nobody's lease is waited for."""
    _end(command, run, FlowStatus.CANCELLED, guards.MAY_BE_ENDED)


def terminate(command: Command, run: Snapshot) -> None:
    """Row 17: close the run from any open status; undos are left as they are."""
    _end(command, run, FlowStatus.TERMINATED, guards.IS_OPEN)


def _end(command: Command, run: Snapshot, status: FlowStatus, where: Sql) -> None:
    def then() -> Sequence[Line]:
        settled = settlement.settle(run.run_id)
        unfinished.note(run.run_id, bump=False)
        return (
            told(command),
            journal.line(
                f"flow.{status.value}", actor=actor(command), **settled.as_data()
            ),
        )

    update = RunUpdate(
        run=run.run_id,
        where=(where, *_revision(command)),
        sets={
            **settlement.closed(status),
            **intent_of(command),
            "lease_epoch": Sql("lease_epoch + 1"),
            "history_seq": journal.plus(2),
            "updated_at": dialect.forward("updated_at"),
        },
    )
    _write(
        command,
        run,
        update,
        then,
        last=lambda: children.ended(run.run_id, run.parent),
    )


def interrupt(command: Command, run: Snapshot) -> bool:
    """
    Row 18: pause a run, at once if it waits, else at its holder's next commit.

    Returns whether it is paused already; False: the intent is stored.
    """
    for _ in range(_ROUNDS):
        try:
            _pause(command, run)
        except Refused:
            pass
        else:
            return True
        try:
            _ask_to_pause(command, run)
        except Refused:
            continue
        else:
            return False
    raise Refused


def is_asked_to_pause(run: UUID) -> bool:
    """Whether an interrupt of *run* waits for its holder's next commit."""
    rows = FlowRun.objects.using(dialect.alias()).filter(pk=run)
    return rows.filter(intent=Intent.INTERRUPT).exists()


def _pause(command: Command, run: Snapshot) -> None:
    reason = bounded(command.request.reason, REASON_BYTES)
    update = RunUpdate(
        run=run.run_id,
        where=(guards.WAITING, *_revision(command)),
        sets={
            "status": FlowStatus.INTERRUPTED.value,
            "revision": Sql("revision + 1"),
            "history_seq": journal.plus(2),
            "wake_at": None,
            "wait_kind": "resume",
            "wait_name": "",
            "wait_reason": reason or "paused by an operator",
            "updated_at": dialect.forward("updated_at"),
        },
    )
    lines = (told(command), journal.line("flow.interrupted", actor=actor(command)))
    _write(command, run, update, lambda: lines)


def _ask_to_pause(command: Command, run: Snapshot) -> None:
    held = guards.status_in({FlowStatus.PENDING, FlowStatus.RUNNING})
    update = RunUpdate(
        run=run.run_id,
        where=(held, guards.NO_INTENT, *_revision(command)),
        sets={
            "intent": Intent.INTERRUPT.value,
            "revision": Sql("revision + 1"),
            "history_seq": journal.plus(1),
            "updated_at": dialect.forward("updated_at"),
        },
    )
    _write(command, run, update, lambda: (told(command),))


def resume(command: Command, run: Snapshot, payload: str | None) -> None:
    """Row 19: let an interrupted run go on; *payload* answers its interrupt."""

    def then() -> Sequence[Line]:
        open_interrupt = (
            SideEffect.objects.using(dialect.alias())
            .filter(
                run_id=run.run_id, kind=SideEffectKind.INTERRUPT, value__isnull=True
            )
            .order_by("-sequence")
            .first()
        )
        if open_interrupt is not None:
            open_interrupt.value = "null" if payload is None else payload
            open_interrupt.save(using=dialect.alias(), update_fields=["value"])
        for wake in _pending_steps(run):
            outbox.send(wake)
        return (told(command), journal.line("flow.resumed", actor=actor(command)))

    update = RunUpdate(
        run=run.run_id,
        where=(guards.INTERRUPTED, *_revision(command)),
        sets={
            "status": FlowStatus.WAITING.value,
            "intent": None,
            "wake_at": dialect.now(),
            "inbox": Sql("inbox + 1"),
            "revision": Sql("revision + 1"),
            "history_seq": journal.plus(2),
            **hints.sent(),
            "wait_kind": "",
            "wait_reason": "",
            "updated_at": dialect.forward("updated_at"),
        },
    )
    _write(command, run, update, then, (_drive(run),))


def _pending_steps(run: Snapshot) -> list[Wake]:
    steps = ActionRun.objects.using(dialect.alias()).filter(
        run_id=run.run_id,
        status=ActionStatus.PENDING,
        queued=True,
        available_at__isnull=False,
    )
    return [
        Wake(kind=Wanted.PERFORM, id=str(pk), queue=queue or run.queue)
        for pk, queue in steps.values_list("pk", "queue")
    ]


def signal(command: Command, run: Snapshot, name: str, limit: int) -> None:
    """
    Row 20: store a delivery and wake the run; a deliverer only ever inserts.

    Raises TooManyPending when *limit* deliveries are unread.
    """
    now = dialect.now()

    def then() -> Sequence[Line]:
        if limit:
            _check_room(run.run_id, limit)
        run_statement(
            run.run_id,
            Insert(
                model=FlowSignal,
                rows=[
                    {
                        "run_id": run.run_id,
                        "name": name,
                        "status": SignalStatus.RECEIVED.value,
                        "cycle": 0,
                        "payload": command.payload,
                        "received_seq": FromRun("history_seq"),
                        "created_at": now,
                    }
                ],
            ),
        )
        return (journal.line("signal.received", actor=actor(command), name=name),)

    awake = ", ".join(f"'{status.value}'" for status in sorted(_SUSPENDED))
    update = RunUpdate(
        run=run.run_id,
        where=(guards.MAY_BE_SIGNALLED, *_revision(command)),
        sets={
            "wake_at": Sql(
                f"CASE WHEN status IN ({awake}) THEN {now.text} ELSE wake_at END",
                now.parameters,
            ),
            "inbox": Sql("inbox + 1"),
            "history_seq": journal.plus(1),
            **hints.sent(),
            "updated_at": dialect.forward("updated_at"),
        },
    )
    wakes = () if run.status is FlowStatus.INTERRUPTED else (_drive(run),)
    _write(command, run, update, then, wakes)


def _check_room(run: UUID, limit: int) -> None:
    """Raise TooManyPending unless *run* may hold one more delivery unread."""
    unread = FlowSignal.objects.using(dialect.alias()).filter(
        run_id=run, status=SignalStatus.RECEIVED
    )
    count = unread.count()
    if structural.is_over(count + 1, limit):
        raise TooManyPending(count)
    if structural.comes_near(count, count + 1, limit):
        what = f"The unread signals of run {run}"
        structural.warn("MAX_PENDING_SIGNALS", count + 1, limit, what=what)


def repair(command: Command, run: Snapshot) -> None:
    """Row 22, asked for by a person: due at once, a hint whatever the window says."""
    update = RunUpdate(
        run=run.run_id,
        where=(
            guards.status_in(
                {*FlowStatus.may_start_work(), FlowStatus.CANCELLING},
            ),
            guards.free("lease_owner"),
        ),
        sets={
            "wake_at": dialect.now(),
            **hints.sent(),
            "holds": 0,
            "hold_until": None,
            "repairs": 0,
            "repair_at": None,
            "history_seq": journal.plus(1),
            "updated_at": dialect.forward("updated_at"),
        },
    )
    # under a rollback no step may start, so none is hinted at
    steps = _pending_steps(run) if run.status in FlowStatus.may_start_work() else []
    _write(command, run, update, lambda: (told(command),), (_drive(run), *steps))


def archive(command: Command, run: Snapshot) -> None:
    """Row 44: take a closed run out of the default lists."""
    update = RunUpdate(
        run=run.run_id,
        where=(guards.CLOSED, Sql("archived_at IS NULL"), *_revision(command)),
        sets={
            "archived_at": dialect.now(),
            "revision": Sql("revision + 1"),
            "history_seq": journal.plus(1),
        },
    )
    _write(command, run, update, lambda: (told(command),))


def observe(run: UUID, error: str) -> None:
    """What last went wrong operationally: an observation, never a status (row 44)."""
    FlowRun.objects.using(dialect.alias()).filter(pk=run).update(
        last_error=bounded(error, 1024)
    )

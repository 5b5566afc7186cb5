"""Start, reserve and release."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final
from uuid import uuid4

from saga_flow import conf
from saga_flow.client import answers
from saga_flow.exceptions import CommandConflict
from saga_flow.records import Answer, Duplicate, Request, StartOrder, Target
from saga_flow.states import FlowStatus
from saga_flow.store import command_rows, dialect, starts, transaction
from saga_flow.store.command_rows import Command, KeyTaken
from saga_flow.store.starts import Started, Taken

logger = logging.getLogger("saga_flow.client")

_RETURNED: Final = "returned_existing_active"


def start(order: StartOrder, request: Request) -> Answer:
    """
    Start a run, or reserve its instance id; joins the caller's transaction.

    A taken instance id is judged by the order's duplicate policy; a rejection leaves
    the caller's transaction usable and writes its command row only. Warns of a
    transaction on another alias, which is not joined.
    """
    reserving = order.arguments is None
    command = Command(
        type="reserve" if reserving else "start",
        target=Target(instance_id=order.instance_id, tenant=order.tenant),
        request=request,
        outcome="reserved" if reserving else "started_new",
        payload=order.arguments,
        about=order.workflow_name,
    )
    known = command_rows.answered(command)
    if known is not None:
        return known
    # only now: a repeated request without an instance id is the same request
    order = replace(
        order,
        instance_id=order.instance_id or str(uuid4()),
        queue=order.queue or conf.get().QUEUE,
    )
    try:
        return _start(order, command)
    except KeyTaken:
        return _first_answer(command)


def _start(order: StartOrder, command: Command) -> Answer:
    try:
        started = starts.start(order, command)
    except Taken as taken:
        # perhaps by the first request with this same key, which has committed since
        known = command_rows.answered(command)
        return known or _duplicate(order, command, taken)
    return _started(order, command, started)


def _started(order: StartOrder, command: Command, started: Started) -> Answer:
    _warn_of_strangers(started)
    return Answer(
        accepted=True,
        outcome=command.outcome,
        run_id=started.run,
        instance_id=order.instance_id,
        workflow_name=order.workflow_name,
        command_id=command.id,
        command_sequence=1,
    )


def _warn_of_strangers(started: Started) -> None:
    """Tell of transactions that can't take this start back."""
    aliases = transaction.open_elsewhere()
    if aliases:
        logger.warning(
            "run=%s was started inside a transaction on %s, which it does not join: "
            "the engine's tables are on %r, so the run stays even if that transaction "
            "is rolled back. Start it from transaction.on_commit(..., using=%r).",
            started.run,
            " and ".join(map(repr, aliases)),
            dialect.alias(),
            aliases[0],
        )


def _first_answer(command: Command) -> Answer:
    known = command_rows.answered(command)
    if known is None:
        raise CommandConflict(
            f"Idempotency key {command.request.idempotency_key!r} is in use by a "
            "request that has not committed yet; try again.",
            outcome="rejected_conflict",
            reason="conflict",
        )
    return known


def _duplicate(order: StartOrder, command: Command, taken: Taken) -> Answer:
    is_open = taken.status in FlowStatus.may_start_work() or taken.status in (
        FlowStatus.INTERRUPTED,
        FlowStatus.CANCELLING,
    )
    if order.on_duplicate is Duplicate.RETURN_EXISTING and is_open:
        command = replace(command, outcome=_RETURNED)
        command_rows.note(command, run=taken.run, instance_id=order.instance_id)
        return Answer(
            accepted=True,
            outcome=_RETURNED,
            run_id=taken.run,
            instance_id=order.instance_id,
            workflow_name=order.workflow_name,
            command_id=command.id,
            idempotent=True,
        )
    message = (
        f"Instance {order.instance_id!r} has a run already: {taken.run} is "
        f"{taken.status.value}. Use another instance_id, or on_duplicate="
        "RETURN_EXISTING for an open run, ALLOW_AFTER_CLOSED for a closed one."
    )
    command = replace(command, outcome="rejected_duplicate")
    command_rows.reject(
        command,
        run=taken.run,
        instance_id=order.instance_id,
        rejection_reason=answers.REASON_OF[command.outcome],
        message=message,
    )
    return replace(
        answers.rejected(command, command.outcome, message), run_id=taken.run
    )


def release(target: Target, request: Request) -> Answer:
    """Give a reservation up: the reserved row goes, the command row stays."""
    command = Command(
        type="release", target=target, request=request, outcome="released"
    )
    try:
        return command_rows.answered(command) or _release(target, command)
    except KeyTaken:
        return _first_answer(command)


def _release(target: Target, command: Command) -> Answer:
    if starts.release(target.tenant, target.instance_id, command):
        return Answer(
            accepted=True,
            outcome="released",
            instance_id=target.instance_id,
            command_id=command.id,
        )
    message = (
        f"Instance {target.instance_id!r} is not reserved, so there is nothing to "
        "release; only a reservation that was never started can be given up."
    )
    command = replace(command, outcome="rejected_conflict")
    command_rows.reject(
        command,
        run=None,
        instance_id=target.instance_id,
        rejection_reason=answers.REASON_OF[command.outcome],
        message=message,
    )
    return answers.rejected(command, command.outcome, message)

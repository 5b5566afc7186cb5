"""Take all orders through: start, kill one worker, approve, watch to the end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from examples.shop import crash, processes, runs
from examples.shop.crash import Crash
from examples.shop.folder import Folder
from examples.shop.ledger import Ending
from examples.shop.orders import Order
from examples.shop.processes import Service
from examples.shop.progress import Progress, bar, sentence
from examples.shop.standing import OrderRun
from examples.shop.workflows import APPROVAL_LIMIT_CENTS

_LOOK_SECONDS = 0.4


@dataclass(slots=True, kw_only=True)
class Drive:
    """The orders on their way, and what was done to them so far."""

    orders: list[Order]
    decided_for: dict[str, Order]
    """The orders that the demo itself decides on; others wait for a person."""

    folder: Folder
    services: tuple[Service, ...]
    """The cluster comes first."""

    progress: Progress
    deadline: float
    """On the monotonic clock."""

    victim: str
    crash: Crash | None = None
    recovered_at: float | None = None
    decided: set[str] = field(default_factory=set)


def deciders(orders: list[Order], *, all_of_them: bool) -> dict[str, Order]:
    """Return the orders that need approval: all, or every other one."""
    asking = [order for order in orders if order.cents > APPROVAL_LIMIT_CENTS]
    return {order.order_id: order for order in asking[:: 1 if all_of_them else 2]}


def start_all(drive: Drive) -> None:
    """Queue every order's run; raises ServiceDied."""
    for number, order in enumerate(drive.orders, start=1):
        runs.start(order)
        drive.progress.show(f"{bar(number, len(drive.orders))}  starting orders")
        _kill_once(drive)
        processes.check(drive.services[0])


def watch(drive: Drive) -> list[OrderRun]:
    """
    Return the runs when all have come to rest, or when the deadline has passed.

    Raises ServiceDied.
    """
    while True:
        for service in drive.services:
            processes.check(service)
        _kill_once(drive)
        found = runs.read()
        _decide(drive, found)
        _note_recovery(drive, found)
        drive.progress.show(sentence(found, len(drive.orders)) + _owed(drive, found))
        if _at_rest(drive, found) or time.monotonic() > drive.deadline:
            drive.progress.end()
            return found
        time.sleep(_LOOK_SECONDS)


def _owed(drive: Drive, found: list[OrderRun]) -> str:
    moving = [run.order_id for run in found if run.ending is None]
    if drive.crash is None or moving != [drive.victim]:
        return ""
    return f": {drive.victim}, taken over within 30 s of the kill"


def _kill_once(drive: Drive) -> None:
    if drive.crash is None:
        drive.crash = crash.kill_held(
            drive.services[0], drive.folder.gates, drive.victim
        )
        if drive.crash:
            drive.progress.say(
                f"killed worker {drive.crash.pid} with -9 inside step {crash.STEP} of"
                f" {drive.victim}; another takes over"
            )


def _decide(drive: Drive, found: list[OrderRun]) -> None:
    for run in found:
        order = drive.decided_for.get(run.order_id)
        if order and run.awaits_approval and run.order_id not in drive.decided:
            runs.decide(order)
            drive.decided.add(run.order_id)


def _note_recovery(drive: Drive, found: list[OrderRun]) -> None:
    if drive.crash is None or drive.recovered_at is not None:
        return
    if any(run.order_id == drive.victim and run.ending for run in found):
        drive.recovered_at = time.monotonic()
        seconds = drive.recovered_at - drive.crash.at
        drive.progress.say(
            f"{drive.victim} was finished {seconds:.0f} s after the kill"
        )


def _at_rest(drive: Drive, found: list[OrderRun]) -> bool:
    return len(found) == len(drive.orders) and all(
        run.ending
        and (
            run.ending is not Ending.AWAITING_APPROVAL
            or run.order_id not in drive.decided_for
        )
        for run in found
    )

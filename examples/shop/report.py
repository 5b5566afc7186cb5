"""What a demo came to: its figures, its table, its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from examples.shop import ledger
from examples.shop.ledger import Ending, Expected, Money, World
from examples.shop.orders import Order
from examples.shop.standing import REASONS, OrderRun, StepRun

_WIDTH = 72
_FAULTS_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The step that a killed worker left behind, and what became of it."""

    order_id: str
    step: str
    pid: int
    seconds: float | None
    """From the kill to the order's end; None if it has not ended."""

    attempt: int | None
    charges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a demo; *faults* is empty when all is as it must be."""

    orders: int
    completed: int
    rolled_back: Mapping[str, int]
    waiting: int
    under_way: int
    rollback_failed: int
    retried: int
    not_notified: int
    money: Money
    recovery: Recovery | None
    seconds: float
    faults: tuple[str, ...]


def faults(
    orders: Iterable[Order],
    runs: Iterable[OrderRun],
    world: World,
    recovery: Recovery | None,
) -> list[str]:
    """Return everything that is not as it must be, a sentence each."""
    by_order = {run.order_id: run for run in runs}
    placed = {order.order_id: order for order in orders}
    found = [
        f"{order_id}: has no run" for order_id in placed if order_id not in by_order
    ]
    found += [fault for run in by_order.values() for fault in _run_faults(run)]
    # An order under way may have moved money a moment ago: nothing to prove yet.
    if all(run.ending for run in by_order.values()):
        found += ledger.faults(_expected(placed, by_order), world)
    else:
        found.insert(0, "not all orders came to rest in time, so nothing is proven")
    return found + _recovery_faults(recovery)


def figures(report: Report) -> dict[str, Any]:
    """Return the report as plain values, for one line of JSON; money in cents."""
    recovery = report.recovery
    return {
        "orders": report.orders,
        "completed": report.completed,
        "rolled_back": sum(report.rolled_back.values()),
        "rolled_back_by_reason": dict(report.rolled_back),
        "waiting_for_approval": report.waiting,
        "under_way": report.under_way,
        "failed_to_roll_back": report.rollback_failed,
        "steps_retried": report.retried,
        "customers_not_notified": report.not_notified,
        "charged_cents": report.money.charged,
        "refunded_cents": report.money.refunded,
        "kept_cents": report.money.kept,
        "killed_order": recovery and recovery.order_id,
        "killed_step_attempt": recovery and recovery.attempt,
        "recovered_in_seconds": recovery and recovery.seconds,
        "balanced": not report.faults,
        "faults": len(report.faults),
        "first_faults": list(report.faults[:_FAULTS_SHOWN]),
        "seconds": report.seconds,
    }


def table(report: Report) -> str:
    """Return the report for a person."""
    return "\n".join(
        [
            "",
            f"  What became of {report.orders} orders",
            f"  {'-' * _WIDTH}",
            *_ending_lines(report),
            "",
            "  On the way",
            f"  {'-' * _WIDTH}",
            _line("steps that needed another attempt", report.retried),
            _line(
                "customers that no mail reached (optional step)", report.not_notified
            ),
            *_recovery_lines(report.recovery),
            "",
            "  The books",
            f"  {'-' * _WIDTH}",
            _line("charged", _euros(report.money.charged)),
            _line("refunded", _euros(report.money.refunded)),
            _line("kept", _euros(report.money.kept)),
            *_verdict_lines(report.faults),
            "",
        ]
    )


def count_retried(steps: Iterable[StepRun]) -> int:
    """Count the steps that took more than one attempt."""
    return sum(step.attempt > 1 for step in steps)


def count_rolled_back(runs: Iterable[OrderRun]) -> dict[str, int]:
    """Count the rolled-back orders by reason, the known reasons first."""
    counts = Counter(
        run.reason or f"other ({run.status})"
        for run in runs
        if run.ending is Ending.ROLLED_BACK
    )
    return {reason: counts.pop(reason, 0) for reason in REASONS.values()} | dict(counts)


def _expected(
    placed: Mapping[str, Order], by_order: Mapping[str, OrderRun]
) -> list[Expected]:
    return [
        Expected(
            order_id=order_id,
            cents=order.cents,
            ending=ending,
            items=order.items,
        )
        for order_id, order in placed.items()
        if order_id in by_order and (ending := by_order[order_id].ending)
    ]


def _run_faults(run: OrderRun) -> list[str]:
    if run.ending is None:
        wait = f" ({run.reason})" if run.reason else ""
        return [f"{run.order_id}: still {run.status}{wait}"]
    if run.rollback_failed:
        return [f"{run.order_id}: not everything could be undone"]
    if run.ending is Ending.ROLLED_BACK and run.reason is None:
        return [f"{run.order_id}: {run.status} for a reason that the shop has not"]
    return []


def _recovery_faults(recovery: Recovery | None) -> list[str]:
    if recovery is None:
        return ["no worker was killed: no step was ever held in its body"]
    about = f"{recovery.order_id}, whose worker was killed"
    found = []
    if recovery.attempt != 2:
        found.append(f"{about}: the step's attempt says {recovery.attempt}, not 2")
    if recovery.charges != 1:
        found.append(f"{about}: charged {recovery.charges} times, not once")
    return found


def _ending_lines(report: Report) -> list[str]:
    lines = [
        _line("completed", report.completed),
        _line("rolled back", sum(report.rolled_back.values())),
        *(_line(f"    {why}", n) for why, n in report.rolled_back.items()),
        _line("waiting for approval", report.waiting),
        _line("failed to roll back", report.rollback_failed),
    ]
    if report.under_way:
        lines.append(_line("still under way", report.under_way))
    return lines


def _recovery_lines(recovery: Recovery | None) -> list[str]:
    if recovery is None:
        return []
    took = "not recovered"
    if recovery.seconds is not None:
        took = f"finished by attempt {recovery.attempt} after {recovery.seconds:.0f} s"
    return [
        _line("worker killed with -9 in mid-step", f"process {recovery.pid}"),
        _line(f"    {recovery.order_id}, step {recovery.step}", took),
        _line("    times the customer was charged", recovery.charges),
    ]


def _verdict_lines(found: tuple[str, ...]) -> list[str]:
    if not found:
        return [
            "",
            "  The ledger balances: every completed order was charged once and shipped",
            "  once; every charge of an order that did not complete was refunded",
            "  exactly once; no article is left set aside for an undone order.",
        ]
    lines = ["", f"  NOT AS IT MUST BE ({len(found)}):"]
    lines += [f"    {fault}" for fault in found[:_FAULTS_SHOWN]]
    if len(found) > _FAULTS_SHOWN:
        lines.append(f"    and {len(found) - _FAULTS_SHOWN} more")
    return lines


def _line(name: str, value: object) -> str:
    return f"  {name:<{_WIDTH - 24}}{value!s:>24}"


def _euros(cents: int) -> str:
    return f"EUR {cents // 100:,}.{cents % 100:02d}"

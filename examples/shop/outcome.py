"""Read what a drive came to and weigh it."""

from __future__ import annotations

from examples.shop import crash, report, runs
from examples.shop.drive import Drive
from examples.shop.ledger import Ending, World, money
from examples.shop.report import Recovery, Report
from examples.shop.standing import OrderRun, StepRun
from examples.shop.world import read_world


def weigh(drive: Drive, found: list[OrderRun], seconds: float) -> Report:
    """Return the report on *found*, which took *seconds*."""
    world = read_world()
    steps = {run.order_id: runs.steps(run.order_id) for run in found}
    endings = [run.ending for run in found]
    every_step = [step for one in steps.values() for step in one]
    recovery = _recovery(drive, steps.get(drive.victim, []), world)
    return Report(
        orders=len(drive.orders),
        completed=endings.count(Ending.COMPLETED),
        rolled_back=report.count_rolled_back(found),
        waiting=endings.count(Ending.AWAITING_APPROVAL),
        under_way=endings.count(None),
        rollback_failed=sum(run.rollback_failed for run in found),
        retried=report.count_retried(every_step),
        not_notified=sum(step.status == "optional_failed" for step in every_step),
        money=money(world),
        recovery=recovery,
        seconds=round(seconds, 1),
        faults=tuple(report.faults(drive.orders, found, world, recovery)),
    )


def _recovery(drive: Drive, steps: list[StepRun], world: World) -> Recovery | None:
    if drive.crash is None:
        return None
    seconds = None
    if drive.recovered_at is not None:
        seconds = round(drive.recovered_at - drive.crash.at, 1)
    return Recovery(
        order_id=drive.victim,
        step=crash.STEP,
        pid=drive.crash.pid,
        seconds=seconds,
        attempt=next((step.attempt for step in steps if step.name == crash.STEP), None),
        charges=sum(charge.order_id == drive.victim for charge in world.charges),
    )

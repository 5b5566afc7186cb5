"""What authors may write: a strict type checker finds nothing here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_type
from uuid import UUID

from saga_flow import (
    CONTINUE,
    FAIL,
    RESULT,
    WAIT_ALL,
    Answer,
    Duplicate,
    FlowStatus,
    Handle,
    Retry,
    RunInfo,
    Signal,
    Step,
    Workflow,
    action,
    current_step,
    flows,
)
from saga_flow.testing import assert_replays


@action
def charge(order_id: str, cents: int) -> str:
    return current_step().idempotency_key


@action(retry=Retry(attempts=3, delay=timedelta(seconds=1), non_retryable=(OSError,)))
def refund(order_id: str, charge_id: str, *, note: str = "") -> None: ...


@action
async def ship(order_id: str) -> bytes:
    return b""


@action(lost_worker=FAIL, aliases=["shop.hold"])
async def reserve(order_id: str) -> int:
    return 1


@action
def release(order_id: str) -> None: ...


@action(compensate=release, redact=["order_id", RESULT])
def hold(order_id: str) -> int:
    return 1


@action(compensate=release, optional=True, fallback="", expires_in=timedelta(1))
def notify(order_id: str) -> str:
    return ""


@action
def clash(f: int, self: str) -> bytes:
    return b""


@dataclass
class Approval:
    approved: bool


class Sub(Workflow):
    def handle(self, n: int) -> float:
        return n / 2


class Checkout(Workflow):
    class Meta:
        name = "orders.checkout"
        version = "2"
        expires_in = timedelta(hours=6)

    approval = Signal(Approval)
    note = Signal(str)
    anything = Signal()

    def handle(self, order_id: str, cents: int = 5) -> dict[str, str]:
        assert_type(self.compensate(), None)
        step = self.action(charge, order_id, cents)
        both = self.parallel(step.compensate_with(refund, order_id, RESULT), self.note)
        assert_type(both.run(), tuple[str, str])
        many = [self.action(charge, "o", n) for n in range(9)]
        assert_type(self.parallel(*many, limit=3, policy=WAIT_ALL).run(), list[str])
        assert_type(self.map(notify, ["a", "b"], limit=1), list[str])
        race = self.first(self.approval, self.timer(timedelta(days=1)), both)
        assert_type(race.run(), tuple[int, Approval | tuple[str, str] | None])
        undoable = step.compensate_with(refund, order_id, RESULT, note="x")
        assert_type(undoable, Step[str])
        assert_type(undoable.on_compensation_failure(CONTINUE), Step[str])
        assert_type(undoable.compensate_on_own_failure().run(), str)
        step.compensate_with(refund, order_id, RESULT["id"])
        assert_type(self.action(ship, order_id).run(), bytes)
        assert_type(self.action(reserve.using(lost_worker=FAIL), order_id).run(), int)
        assert_type(self.action(reserve.using(atomic=True), order_id).run(), int)
        assert_type(self.action(reserve, order_id).optional().run(), int | None)
        assert_type(self.action(reserve, order_id).optional(None).run(), int | None)
        assert_type(self.action(reserve, order_id).optional("").run(), int | str)
        assert_type(self.action(clash, f=1, self="x").run(), bytes)
        assert_type(self.approval.wait(timeout=timedelta(days=1)), Approval)
        assert_type(self.note.run(), str)
        assert_type(self.note.wait(timeout=None), str)
        assert_type(self.action(ship.using(expires_in=None), order_id).run(), bytes)
        assert_type(self.anything.wait(), Any)
        assert_type(self.signal("approval", Approval).run().approved, bool)
        assert_type(self.signal("late").wait(timeout=timedelta(1)), Any)
        assert_type(self.interrupt("look at this", Approval), Approval)
        assert_type(self.interrupt("look at this"), Any)
        self.grouped(order_id)
        self.in_the_small(order_id)
        return {"charge": undoable.run()}

    def grouped(self, order_id: str) -> None:
        one = self.action(charge, order_id, 1).compensate_with(refund, order_id, RESULT)
        assert_type(self.saga(one, one).run(), list[str])
        assert_type(self.saga(one, self.note).run(), list[str])
        assert_type(self.saga(self.saga(one), self.saga(one)).run(), list[list[str]])
        kept = one.compensate_on_own_failure(wanted=False)
        self.saga(
            kept,
            on_compensation_failure=CONTINUE,
            compensate_in_parallel=True,
            compensate_on_own_failure=True,
        ).run()
        self.add_compensation(refund, order_id, "ch-1", note="by phone")

    def in_the_small(self, order_id: str) -> None:
        assert_type(self.now(), datetime)
        assert_type(self.uuid4(), UUID)
        assert_type(self.random(), float)
        assert_type(self.side_effect("size", lambda: len(order_id)), int)
        assert_type(self.info, RunInfo)
        assert_type(self.child(Sub, 3).run(), float)
        detached = self.child(Sub.using(queue="slow"), 3).detach()
        assert_type(detached, Handle[float])
        lenient = self.child(Sub, n=3).continue_on_failure()
        assert_type(lenient.run(), float | None)
        self.sleep(timedelta(minutes=1))
        self.sleep_until(self.now() + timedelta(days=1))
        self.tag("order", order_id)
        self.memo(order=order_id, lines=[1, 2])
        self.summary("half way")


assert_type(charge("o", 1), str)


async def directly() -> None:
    assert_type(await ship("x"), bytes)
    assert_type(await reserve("x"), int)


def outside(user: object) -> None:
    assert_type(Checkout.start(order_id="o"), Handle[dict[str, str]])
    assert_type(Checkout.start("o", 1), Handle[dict[str, str]])
    assert_type(flows.create(Checkout).start("o", 2), Handle[dict[str, str]])
    start = Checkout.using(
        instance_id="x",
        queue="p",
        tags={"channel": "web"},
        memo={"note": None},
        run_after=timedelta(minutes=5),
        on_duplicate=Duplicate.RETURN_EXISTING,
        principal=user,
    )
    assert_type(start.start("o", 2).result(), dict[str, str])
    assert_type(start.run_sync("o", 2), Handle[dict[str, str]])
    assert_type(start.reserve(), Handle[dict[str, str]])
    assert_type(start.attempt_start("o"), Answer)
    assert_type(flows.workflow("orders.sub").using(queue="p").start(1), Handle[Any])
    assert_type(flows.load("x"), Handle[Any])
    assert_type(flows.load_run("0190f5d6-0000-7000-8000-000000000000"), Handle[Any])
    handle = flows.load("x", Checkout)
    assert_type(handle, Handle[dict[str, str]])
    steer(handle)


def steer(handle: Handle[dict[str, str]]) -> None:
    wide: Handle[object] = handle
    assert_type(wide.status, FlowStatus)
    assert_type(handle.result(timeout=timedelta(seconds=5)), dict[str, str])
    assert_type(handle.output(), dict[str, str] | None)
    assert_type(handle.using(reason="r").wait(), Handle[dict[str, str]])
    assert_type(handle.signal(Checkout.approval, Approval(approved=True)), Answer)
    assert_type(handle.signal("approval", {"approved": True}), Answer)
    assert_type(handle.signal_if_running(Checkout.note, "x"), bool)
    assert_type(handle.using(expected_revision=3, reason="r").cancel(), Answer)
    for each in flows.filter(workflow=Checkout, status="waiting").handles():
        assert_type(each, Handle[Any])
    assert_replays(Checkout, handle)


async def asynchronously(handle: Handle[dict[str, str]]) -> None:
    assert_type(await Checkout.astart("o", cents=1), Handle[dict[str, str]])
    start = Checkout.using(instance_id="x")
    assert_type(await start.astart("o", 2), Handle[dict[str, str]])
    assert_type(await start.arun_sync("o"), Handle[dict[str, str]])
    assert_type(await start.areserve(), Handle[dict[str, str]])
    assert_type(await start.aattempt_start("o", 2), Answer)
    assert_type(await flows.aload("x", Checkout), Handle[dict[str, str]])
    assert_type(await flows.aload("x"), Handle[Any])
    assert_type(await flows.aload_run("x"), Handle[Any])
    assert_type(await handle.arefresh(), Handle[dict[str, str]])
    assert_type(await handle.aresult(timeout=timedelta(1)), dict[str, str])
    assert_type(await handle.aoutput(), dict[str, str] | None)
    assert_type(await handle.await_(poll=timedelta(1)), Handle[dict[str, str]])
    assert_type(
        await handle.asignal(Checkout.approval, Approval(approved=True)), Answer
    )
    assert_type(await handle.asignal_if_running("approval"), bool)
    assert_type(await handle.using(reason="r").acancel(), Answer)
    assert_type(await handle.aresume({"approved": True}), Answer)
    found = flows.filter(workflow=Checkout)
    assert_type(await found.acount(cap=None), int)
    assert_type(await found.afirst(), Handle[Any] | None)
    assert_type((await found.apage(size=5)).items, tuple[Handle[Any], ...])
    async for each in found.aiterator():
        assert_type(each, Handle[Any])

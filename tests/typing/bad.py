"""What authors can't write: each marked line, and no other, is an error."""

from datetime import timedelta

from saga_flow import RESULT, Retry, Workflow, action, flows
from saga_flow.testing import assert_replays
from tests.typing.good import Checkout, Sub, charge, refund, reserve, ship


def plain(x: int) -> int:
    return x


@action
def plain_of_one(name: str) -> None: ...


class W(Workflow):
    def handle(self) -> None:
        self.action(charge, "o").run()  # E
        self.action(charge, "o", "1").run()  # E
        self.action(charge, "o", 1, 2).run()  # E
        self.action(charge, "o", cent=1).run()  # E
        self.action(plain, 1).run()  # E
        self.parallel(self.action(charge, "o", 1).run(), self.approval)  # E
        self.parallel(self.approval, policy="wait_all")  # E
        self.map(charge, ["a"])  # E
        self.map(plain_of_one, [1])  # E
        self.timer(5)  # E
        self.action(charge, "o", 1).compensate_with(refund, RESULT)  # E
        self.action(charge, "o", 1).compensate_with(refund, 1, RESULT)  # E
        self.action(charge, "o", 1).compensate_with(refund, "o", RESULT, not_e="")  # E
        self.action(charge, "o", 1).compensate_with(lambda: None)  # E
        self.action(charge, "o", 1).compensate_with(plain, 1)  # E
        self.action(charge, "o", 1).on_compensation_failure("stop")  # E
        number: int = self.action(charge, "o", 1).run()  # E
        sure: int = self.action(reserve, "o").optional().run()  # E
        self.action(reserve, 5)  # E
        self.action(ship, "o").run().upper().encode()  # E
        reserve.using(timout=1)  # E
        reserve.using(retry=3)  # E
        self.sleep(5)  # E
        self.sleep_until("tomorrow")  # E
        self.side_effect("key", 5)  # E
        self.tag("attempts", 3)  # E
        self.signal("approval", timeout=timedelta(1))  # E
        self.approval.wait()  # E
        self.child(Sub, "3")  # E
        assert number + sure


class Grouped(Workflow):
    def handle(self) -> None:
        self.saga("o")  # E
        self.saga(self.action(charge, "o", 1).run())  # E
        self.saga(self.action(charge, "o", 1), on_compensation_failure="stop")  # E
        self.saga(self.action(charge, "o", 1), compensate_in_paralel=True)  # E
        self.add_compensation(refund, "o")  # E
        self.add_compensation(plain, 1)  # E
        self.add_compensation(lambda: None)  # E
        first: str = self.saga(self.action(charge, "o", 1)).run()  # E
        assert first


class Declared(Checkout):
    def handle(self, order_id: str, cents: int = 5) -> dict[str, str]:
        assert order_id * cents
        self.approval.wait(5)  # E
        reserve.using(expires_in=60)  # E
        assert self.approval.wait().aproved  # E
        return {"note": self.approval.wait()}  # E


@action(timout=timedelta(1))  # E
def misspelt() -> None: ...


@action(atomic="yes")  # E
def text_for_truth() -> None: ...


@action(retry=Retry(attempts="3"))  # E
def text_for_number() -> None: ...


@action(redact=[1])  # E
def redacts_a_number() -> None: ...


@action(compensate=plain)  # E
def plain_undo() -> None: ...


Checkout.start(1)  # E
Checkout.start()  # E
Checkout.start("o", 1, 2)  # E
Checkout.using(instance="x")  # E
Checkout.using(tags={"n": 1})  # E
Checkout.using(on_duplicate="reject")  # E
Checkout.using(instance_id="x").start(3)  # E
Checkout.using(instance_id="x").run_sync()  # E
flows.create(Checkout).start(3)  # E
flows.load("x", charge)  # E
h = flows.load("x", Checkout)
h.using(raeson="x")  # E
h.signal(Checkout.approval, "yes")  # E
h.signal(Checkout.approval)  # E
h.result(5)  # E
value: str = h.result()  # E
h.cancel("because")  # E
assert_replays(charge, h)  # E


async def asynchronously() -> None:
    await Checkout.astart(1)  # E
    await Checkout.using(instance_id="x").astart("o", "1")  # E
    await h.asignal(Checkout.approval, "yes")  # E
    await h.aresult(5)  # E
    await h.acancel("because")  # E
    await flows.aload("x", charge)  # E
    await flows.filter(status="waiting").apage(3)  # E
    wrong: int = await h.aresult()  # E
    assert wrong

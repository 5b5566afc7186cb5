"""A step that fails while its run rolls back, and asked to be undone for that."""

from __future__ import annotations

import pytest

from saga_flow import Retry, Workflow, action, client, flows
from saga_flow.models import ActionRun, CompensationRun

pytestmark = pytest.mark.django_db(transaction=True)

ran: list[str] = []


@action(name="inflight.half_done")
def half_done() -> None:
    flows.load("f-1").compensate()
    raise ConnectionError("the answer was lost")


@action(name="inflight.half_done_again", retry=Retry(attempts=3))
def half_done_again() -> None:
    half_done()


@action(name="inflight.take_back")
def take_back() -> None:
    ran.append("taken back")


class Asks(Workflow):
    class Meta:
        name = "inflight.asks"

    def handle(self, *, retried: bool, asks: bool) -> None:
        step = self.action(half_done_again if retried else half_done)
        step = step.compensate_with(take_back)
        if asks:
            step = step.compensate_on_own_failure()
        step.run()


@pytest.mark.parametrize("retried", [False, True])
@pytest.mark.parametrize("asks", [False, True])
def test_it_joins_the_plan_only_where_it_asked(*, retried: bool, asks: bool) -> None:
    """Otherwise what its author warned of would stand under a run fully undone."""
    ran.clear()

    handle = Asks.using(instance_id="f-1").start(retried=retried, asks=asks)
    for _ in range(3):
        client.drive(handle.run_id)

    assert handle.refresh().cancelled()
    assert ran == (["taken back"] if asks else [])
    assert CompensationRun.objects.count() == int(asks)
    assert ActionRun.objects.get().attempt == 1

"""Runs from asynchronous code, and what the synchronous calls say there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation

from saga_flow import Handle, ObservationTimeout, Signal, Workflow, action, flows
from saga_flow.exceptions import CannotSignalTerminalFlow
from saga_flow.models import FlowCommand, FlowRun
from saga_flow.testing import drain
from tests.support.rows import dump

pytestmark = pytest.mark.django_db


def _parcel() -> type[Workflow]:
    @action
    async def weigh(text: str) -> int:
        return len(text)

    class Parcel(Workflow):
        class Meta:
            name = "acceptance.parcel"

        address = Signal(str)

        def handle(self) -> int:
            return self.action(weigh, self.address.wait()).run()

    return Parcel


async def _steered(parcel: Any) -> Any:
    handle = await parcel.using(instance_id="one").arun_sync()
    assert handle.status == "waiting"
    await handle.asignal(parcel.address, "Oslo")
    with pytest.raises(ObservationTimeout):
        await handle.await_(timedelta())
    return handle


def test_a_run_is_started_steered_and_read_from_asynchronous_code() -> None:
    parcel = _parcel()
    handle = async_to_sync(_steered)(parcel)
    drain()

    async def read() -> None:
        assert await handle.aresult() == 4
        loaded = await flows.aload("one", parcel)
        assert await loaded.aoutput() == 4
        assert [step.result for step in await handle.aactions()] == ["4"]
        with pytest.raises(CannotSignalTerminalFlow):
            await loaded.asignal("address", "Rome")
        found = flows.filter(workflow=parcel)
        assert [each.instance_id async for each in found.aiterator()] == ["one"]
        assert (await found.aget()).run_id == handle.run_id
        assert await found.acount() == 1
        again = await parcel.astart()
        assert (await again.acancel()).outcome == "cancelled"

    async_to_sync(read)()


CALLS: dict[str, Callable[[Any, Handle[Any]], Any]] = {
    "start": lambda parcel, _: parcel.start(),
    "run_sync": lambda parcel, _: parcel.using().run_sync(),
    "reserve": lambda parcel, _: parcel.using(instance_id="two").reserve(),
    "load": lambda _, __: flows.load("one"),
    "signal": lambda _, handle: handle.signal("address", "Oslo"),
    "cancel": lambda _, handle: handle.cancel(),
    "wait": lambda _, handle: handle.wait(timedelta()),
    "actions": lambda _, handle: handle.actions(),
    "handles": lambda parcel, _: flows.filter(workflow=parcel).handles(),
    "a fact not read yet": lambda _, handle: Handle(handle._target).status,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_blocking_call_is_refused_there_and_writes_nothing(name: str) -> None:
    parcel = _parcel()
    handle = parcel.using(instance_id="one").start()
    before = FlowRun.objects.count(), FlowCommand.objects.count(), dump(handle.run_id)

    async def call() -> None:
        CALLS[name](parcel, handle)

    with pytest.raises(SynchronousOnlyOperation):
        async_to_sync(call)()
    after = FlowRun.objects.count(), FlowCommand.objects.count(), dump(handle.run_id)
    assert after == before


def test_waiting_in_vain_writes_nothing() -> None:
    handle = _parcel().using(instance_id="one").run_sync()
    before = dump(handle.run_id), FlowCommand.objects.count()

    with pytest.raises(ObservationTimeout) as caught:
        handle.wait(timedelta())
    with pytest.raises(ObservationTimeout):
        handle.using(timeout=timedelta()).result()

    assert (caught.value.instance_id, caught.value.run_id) == ("one", handle.run_id)
    assert caught.value.status == "waiting"
    assert (dump(handle.run_id), FlowCommand.objects.count()) == before

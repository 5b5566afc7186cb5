"""Asynchronous twins: every blocking call has one, and it takes the same."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest
from asgiref.sync import sync_to_async

from saga_flow import (
    FlowStatus,
    Handle,
    ObservationTimeout,
    RunNotCommitted,
    Workflow,
    clock,
)
from saga_flow.authoring import flows
from saga_flow.authoring.selection import Selection
from saga_flow.authoring.start import Start
from saga_flow.authoring.twins import twin
from saga_flow.ids import uuid7
from saga_flow.records import Target
from tests.unit.authoring.doors import NOON, FakeClient, FakeQueries, snapshot

ODD: Final = {"wait": "await_"}
"""``await`` is a word of the language."""

ASKS_NOTHING: Final = {
    Handle: {"of_answer", "of_snapshot", "using"}
    | {"running", "completed", "failed", "cancelled", "terminated", "expired"},
    Start: {"using", "order", "child_call"},
    Selection: {"signalable"},
    # a workflow's other calls are those of handle(), which is never asynchronous
    Workflow: {name for name in vars(Workflow) if name != "start"},
    flows: {"create", "workflow", "filter"},
}
"""What only looks at what was read, or at what it is given."""


def _calls(owner: Any) -> Iterator[str]:
    for name in dir(owner):
        found = getattr(owner, name)
        if name.startswith("_") or not inspect.isroutine(found):
            continue
        if owner is flows and found.__module__ != flows.__name__:
            continue
        is_twin = inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(
            found
        )
        if not is_twin:
            yield name


BLOCKING: Final = [
    (owner, name)
    for owner, exempt in ASKS_NOTHING.items()
    for name in _calls(owner)
    if name not in exempt
]


@pytest.mark.parametrize(
    ("owner", "name"), BLOCKING, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_blocking_call_has_a_twin_that_takes_the_same(owner: Any, name: str) -> None:
    call, other = getattr(owner, name), getattr(owner, ODD.get(name, f"a{name}"))

    assert inspect.iscoroutinefunction(other) or inspect.isasyncgenfunction(other)
    assert other.__name__ == ODD.get(name, f"a{name}")
    taken = [inspect.signature(each).parameters.values() for each in (call, other)]
    assert list(taken[0]) == list(taken[1])


def test_a_twin_says_what_it_is_the_twin_of() -> None:
    def read(size: int) -> int:
        """Read."""
        return size

    other = twin(read)

    assert (other.__name__, other.__doc__) == ("aread", "Read.")
    assert other.__qualname__.endswith("<locals>.aread")
    assert asyncio.run(other(3)) == 3


def _done() -> Any:
    return snapshot(
        workflow_name="gone.flow",
        status=FlowStatus.COMPLETED,
        closed_reason="completed",
        result='"posted"',
    )


def test_who_waits_for_a_result_holds_no_thread(
    client: FakeClient, queries: FakeQueries
) -> None:
    queries.script = [snapshot()]
    handle: Handle[Any] = Handle(Target(instance_id="order-1"))

    def finish() -> None:
        assert queries.targets, "it has not looked yet"
        queries.script = [_done()]

    async def both() -> Any:
        waiting = asyncio.create_task(handle.aresult())
        while not queries.targets:
            await asyncio.sleep(0)
        # the one thread that twins share is free, or this would never be done
        await sync_to_async(finish, thread_sensitive=True)()
        return await waiting

    assert asyncio.run(both()) == "posted"


def test_waiting_keeps_the_pace_and_the_limit_of_the_other(
    client: FakeClient, queries: FakeQueries
) -> None:
    queries.script = [snapshot()]
    handle: Handle[Any] = Handle(Target(instance_id="order-1"))
    limit = timedelta(seconds=5)
    looks: set[int] = set()

    for wait in (
        lambda: handle.using(timeout=limit).wait(),
        lambda: asyncio.run(handle.using(timeout=limit).await_()),
        lambda: asyncio.run(handle.using(timeout=timedelta(1)).aresult(limit)),
    ):
        queries.targets.clear()
        with (
            clock.fixed(clock.FakeClock(NOON)) as now,
            pytest.raises(ObservationTimeout) as caught,
        ):
            wait()
        assert now.now - NOON == limit
        assert caught.value.status == "waiting"
        looks.add(len(queries.targets))
    assert len(looks) == 1
    assert client.calls == []


def test_waiting_for_a_run_of_this_very_transaction_is_refused_at_once(
    client: FakeClient, queries: FakeQueries
) -> None:
    queries.script = [snapshot()]
    handle: Handle[Any] = Handle(Target(instance_id="order-1"))
    client.uncommitted_runs.add(snapshot().run_id)

    with pytest.raises(RunNotCommitted):
        asyncio.run(handle.await_())


def test_an_iterator_goes_over_all_pages(queries: FakeQueries) -> None:
    queries.script = [snapshot(run_id=uuid7()) for _ in range(450)]

    async def ids() -> list[Any]:
        found = flows.filter(status="waiting").aiterator()
        return [handle.run_id async for handle in found]

    assert asyncio.run(ids()) == [each.run_id for each in queries.script]

"""Structural limits: below one all is well, near it is told, above it nothing is."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from saga_flow import (
    LimitExceeded,
    PayloadTooLarge,
    Workflow,
    action,
    client,
    events,
)
from saga_flow.authoring.handle import Handle
from saga_flow.models import ActionRun, FlowCommand, FlowRun, FlowSignal, FlowTag
from saga_flow.records import Request, Target
from saga_flow.testing import run_workflow
from tests.support.rows import dump

pytestmark = pytest.mark.django_db(transaction=True)

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


@action(name="limits.note")
def note(number: int) -> int:
    ran.append(number)
    return number


@action(name="limits.unnote")
def unnote(number: int) -> None:
    ran.append(-number)


class _Growing:
    """What grows by one with each turn of a loop, each under its own setting."""

    @staticmethod
    def operations(flow: Workflow, number: int) -> None:
        flow.action(note, number).run()

    @staticmethod
    def tags(flow: Workflow, number: int) -> None:
        flow.tag(f"tag-{number}", "x")

    @staticmethod
    def memo(flow: Workflow, number: int) -> None:
        # {"m-1":0} and the like: 7 bytes a fact, and 1 for the braces
        flow.memo(**{f"m{number}": 0})


GROWTH = {
    "MAX_OPERATIONS": (_Growing.operations, 10),
    "MAX_TAGS": (_Growing.tags, 10),
    "MAX_MEMO_BYTES": (_Growing.memo, 71),
}


def _growing(grow: Any, *, catches: bool = False) -> type[Workflow]:
    class Growing(Workflow):
        class Meta:
            name = "limits.growing"

        def handle(self, times: int) -> int:
            for number in range(times):
                try:
                    grow(self, number)
                except Exception:
                    if not catches:
                        raise
            return times

    return Growing


def near(handle: Handle[Any]) -> list[dict[str, Any]]:
    return [dict(line.data) for line in handle.history() if line.type == "limit.near"]


@pytest.mark.covers("D-LIM-1")
@pytest.mark.parametrize("name", sorted(GROWTH))
def test_up_to_the_limit_a_run_may_grow_and_coming_near_is_told_once(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    grow, limit = GROWTH[name]
    told: list[events.Event] = []

    def hear(event: events.Event, **_: Any) -> None:
        told.append(event)

    events.limit_near.connect(hear)
    try:
        with override_settings(SAGA_FLOW={name: limit}):
            handle = run_workflow(_growing(grow), 10)
    finally:
        events.limit_near.disconnect(hear)

    assert handle.completed()
    [line] = near(handle)
    assert line["limit"] == name
    assert line["count"] >= 0.8 * limit
    assert [event.data for event in told] == [line]
    [record] = [each for each in caplog.records if each.name == "saga_flow.limits"]
    assert name in record.getMessage()
    assert str(handle.run_id) in record.getMessage()


@pytest.mark.covers("D-LIM-1")
@pytest.mark.parametrize("catches", [True, False])
@pytest.mark.parametrize("name", sorted(GROWTH))
def test_a_run_that_would_grow_over_it_fails_whatever_it_catches(
    name: str,
    catches: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    grow, limit = GROWTH[name]

    with override_settings(SAGA_FLOW={name: limit}):
        handle = run_workflow(_growing(grow, catches=catches), 11)

    assert handle.failed()
    assert handle.error is not None
    assert handle.error["type"] == "LimitExceeded"
    assert handle.error["category"] == "structural_limit"
    assert name in handle.error["message"]
    assert ActionRun.objects.count() == len(ran) <= 10
    assert FlowTag.objects.count() <= 10
    assert len(FlowRun.objects.get().memo) <= limit


@pytest.mark.covers("D-LIM-1")
@pytest.mark.parametrize("name", sorted(GROWTH))
def test_zero_switches_it_off(name: str) -> None:
    grow, _ = GROWTH[name]

    with override_settings(SAGA_FLOW={name: 0}):
        handle = run_workflow(_growing(grow), 12)

    assert handle.completed()
    assert near(handle) == []


def test_what_was_done_before_the_limit_is_undone() -> None:
    class Growing(Workflow):
        class Meta:
            name = "limits.undone"

        def handle(self) -> None:
            for number in range(1, 9):
                self.action(note, number).compensate_with(unnote, number).run()

    with override_settings(SAGA_FLOW={"MAX_OPERATIONS": 3}):
        handle = run_workflow(Growing)

    assert ran == [1, 2, 3, -3, -2, -1]
    assert handle.failed()
    assert handle.compensation_state == "completed"


def test_a_block_that_does_not_fit_is_not_begun() -> None:
    class Side(Workflow):
        class Meta:
            name = "limits.side"

        def handle(self) -> list[int]:
            self.action(note, 1).compensate_with(unnote, 1).run()
            return self.map(note, [2, 3, 4])

    with override_settings(SAGA_FLOW={"MAX_OPERATIONS": 3}):
        handle = run_workflow(Side)

    assert handle.failed()
    assert ran == [1, -1]
    assert ActionRun.objects.count() == 1
    run = FlowRun.objects.get()
    assert run.position == 1


def test_a_limit_that_was_lowered_does_not_touch_what_is_recorded() -> None:
    class Waiting(Workflow):
        class Meta:
            name = "limits.lowered"

        def handle(self) -> int:
            for number in range(5):
                self.action(note, number).run()
            return self.signal("go", int).wait()

    handle = run_workflow(Waiting)
    handle.signal("go", 5)
    with override_settings(SAGA_FLOW={"MAX_OPERATIONS": 2}):
        client.drive(handle.run_id)

    assert handle.refresh().output() == 5


def test_near_its_limit_a_run_is_told_to_continue_as_new() -> None:
    class Asking(Workflow):
        class Meta:
            name = "limits.asking_itself"

        def handle(self) -> list[tuple[int, bool]]:
            seen = []
            for number in range(6):
                self.action(note, number).run()
                info = self.info
                seen.append((info.history_size, info.should_continue_as_new))
            return seen

    with override_settings(SAGA_FLOW={"MAX_OPERATIONS": 6}):
        handle = run_workflow(Asking)

    # 80 % of six is 4.8
    assert handle.output() == [(n, n > 4) for n in range(1, 7)]


def test_a_near_limit_is_told_once_though_the_suspension_was_refused() -> None:
    class Waiting(Workflow):
        class Meta:
            name = "limits.refused"

        def handle(self) -> str:
            self.action(told_meanwhile).run()
            self.signal("other").wait()
            return "done"

    @action(name="limits.meanwhile")
    def told_meanwhile() -> None:
        client.signal(Target(instance_id="r1"), "noise", "null", Request())

    with override_settings(SAGA_FLOW={"MAX_OPERATIONS": 2}):
        handle = run_workflow(Waiting.using(instance_id="r1"))

    assert handle.status == "waiting"
    assert len(near(handle)) == 1


# ------------------------------------------------------------------ from outside


def _listening() -> type[Workflow]:
    class Listening(Workflow):
        class Meta:
            name = "limits.listening"

        def handle(self) -> str:
            return self.signal("last", str).wait()

    return Listening


@pytest.mark.covers("D-LIM-1")
def test_a_delivery_too_many_is_refused_and_the_run_is_not_touched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handle = run_workflow(_listening())
    with override_settings(SAGA_FLOW={"MAX_PENDING_SIGNALS": 5}):
        for number in range(5):
            handle.signal("word", number)
        warned = [r for r in caplog.records if "MAX_PENDING_SIGNALS" in r.getMessage()]
        before = {**dump(handle.run_id), "commands": None}
        answer = handle.attempt_signal("word", 6)

    assert len(warned) == 1
    assert answer.outcome == "rejected_structural_limit"
    assert answer.rejection_reason == "structural_limit_exceeded"
    met = {key: answer.details[key] for key in ("limit", "value", "count")}
    assert met == {"limit": "MAX_PENDING_SIGNALS", "value": 5, "count": 5}
    assert {**dump(handle.run_id), "commands": None} == before
    with override_settings(SAGA_FLOW={"MAX_PENDING_SIGNALS": 0}):
        handle.signal("last", "on")
    client.drive(handle.run_id)
    assert handle.refresh().output() == "on"


@pytest.mark.covers("D-LIM-2")
def test_a_payload_over_the_limit_is_refused_before_anything_is_recorded() -> None:
    handle = run_workflow(_listening())
    before = dump(handle.run_id)

    with override_settings(SAGA_FLOW={"MAX_PAYLOAD_BYTES": 50}):
        with pytest.raises(PayloadTooLarge, match="102 bytes"):
            handle.signal("last", "x" * 100)
        target = Target(run_id=handle.run_id)
        answer = client.signal(target, "last", f'"{"x" * 100}"', Request())
        with pytest.raises(PayloadTooLarge):
            _growing(None).start(10**60)

    assert answer.outcome == "rejected_structural_limit"
    assert FlowSignal.objects.filter(status="received").count() == 0
    assert FlowRun.objects.count() == 1
    after = dump(handle.run_id)
    assert {**after, "commands": None} == {**before, "commands": None}
    assert FlowCommand.objects.filter(outcome="rejected_structural_limit").count() == 1


@pytest.mark.covers("D-LIM-2")
@pytest.mark.parametrize("where", ["step", "arguments", "run"])
def test_a_value_over_the_limit_is_not_recorded_by_a_pass(where: str) -> None:
    @action(name="limits.long")
    def long(text: str = "") -> str:
        return "x" * 100

    class Long(Workflow):
        class Meta:
            name = "limits.too_long"

        def handle(self) -> str:
            if where == "run":
                return "x" * 100
            arguments = ("y" * 100,) if where == "arguments" else ()
            return self.action(long, *arguments).run()

    with override_settings(SAGA_FLOW={"MAX_PAYLOAD_BYTES": 50}):
        handle = run_workflow(Long)

    assert handle.failed()
    assert FlowRun.objects.get().result is None
    results = list(ActionRun.objects.values_list("result", flat=True))
    assert results == ([None] if where == "step" else [])


def test_a_payload_near_the_limit_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Bulky(Workflow):
        class Meta:
            name = "limits.bulky"

        def handle(self, text: str) -> int:
            return len(text)

    with override_settings(SAGA_FLOW={"MAX_PAYLOAD_BYTES": 100}):
        for _ in range(2):
            run_workflow(Bulky, "x" * 60)

    told = [r.getMessage() for r in caplog.records if r.name == "saga_flow.limits"]
    assert len(told) == 1
    assert "arguments of workflow limits.bulky" in told[0]


# ----------------------------------------------------------------- memo and tags


@pytest.mark.covers("D-LIM-3", "N-23")
def test_memo_and_tags_merge_and_none_takes_away() -> None:
    class Base(Workflow):
        class Meta:
            abstract = True
            tags = {"team": "oslo", "kind": "batch", "old": "x"}

    class Telling(Base):
        class Meta(Base.Meta):
            abstract = False
            name = "limits.telling"

        def handle(self) -> None:
            self.tag("kind", "single")
            self.tag("kind", "double")
            self.tag("mine", "1")
            self.tag("team", None)
            self.tag("never", None)
            self.memo(customer="Ada", items=[1])
            self.memo(items=None, total=3)
            self.action(note, 1).run()
            self.tag("kind", "last")
            self.memo(customer=None)

    start = Telling.using(
        tags={"channel": "web", "old": None}, memo={"asked": True, "none": None}
    )
    handle = run_workflow(start)

    assert {tag.key: tag.value for tag in handle.tags()} == {
        "channel": "web",
        "kind": "last",
        "mine": "1",
    }
    assert handle.memo == {"asked": True, "total": 3}
    rows = FlowTag.objects.filter(run=handle.run_id, key="kind")
    assert rows.count() == 1


@pytest.mark.covers("D-LIM-3")
@pytest.mark.parametrize(
    "options",
    [
        {"tags": {"no spaces": "x"}},
        {"tags": {"": "x"}},
        {"tags": {"n": 1}},
        {"memo": {"": 1}},
        {"memo": {1: "x"}},
        {"memo": {"a\nb": 1}},
    ],
    ids=str,
)
def test_bad_keys_are_refused_before_anything_is_written(options: Any) -> None:
    with pytest.raises(Exception, match=r"a key of|A key of|tags\['n'\]"):
        _listening().using(**options).start()

    assert FlowRun.objects.count() == 0


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        ({"MAX_TAGS": 2}, {"tags": {"a": "1", "b": "2", "c": "3"}}),
        ({"MAX_MEMO_BYTES": 10}, {"memo": {"a": "x" * 10}}),
    ],
    ids=["tags", "memo"],
)
def test_a_start_over_a_limit_is_refused_before_anything_is_written(
    limits: dict[str, int], options: Any
) -> None:
    [(name, value)] = limits.items()
    with override_settings(SAGA_FLOW=limits), pytest.raises(LimitExceeded) as refusal:
        _listening().using(**options).start()

    assert (refusal.value.limit, refusal.value.value) == (name, value)
    assert refusal.value.count > value
    assert FlowRun.objects.count() == 0

"""The tenant of a run, around every place where the code of its author is called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import override_settings

from saga_flow import (
    QUEUE,
    RESULT,
    Retry,
    Workflow,
    action,
    current_step,
    flows,
    jobs,
    tenancy,
)
from saga_flow.authoring.handle import Handle
from saga_flow.checks import settings_hold
from saga_flow.current import StepContext, executing
from saga_flow.exceptions import RollbackNotPlannable, Unserialisable
from saga_flow.ids import uuid7
from saga_flow.models import ActionRun, CompensationRun, FlowRun
from saga_flow.states import ActionStatus, FlowStatus
from saga_flow.testing import drain
from tests.integration.tenancy import hooks
from tests.integration.tenancy.conftest import HOOKS
from tests.integration.tenancy.hooks import current, tenant

pytestmark = pytest.mark.django_db

seen: dict[str, str] = {}
"""Which tenant was current at each place."""


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    seen.clear()


def note(place: str) -> str:
    seen[place] = current.get()
    return place


def _step(**options: Any) -> Any:
    @action(name="tenancy.body", **options)
    def body() -> str:
        return note("body")

    return body


class _Plain:
    name = "tenancy.one_step"


def _one_step(meta: type = _Plain, **options: Any) -> type[Workflow]:
    body = _step(**options)

    class OneStep(Workflow):
        Meta = meta

        def handle(self) -> Any:
            note("handle")
            return self.action(body).run()

    return OneStep


def _everything() -> type[Workflow]:
    body = _step()

    @action(name="tenancy.undo")
    def undo(result: str) -> None:
        note("undo")

    @action(name="tenancy.async_body")
    async def async_body() -> str:
        return note("async body")

    @action(name="tenancy.queued", dispatch=QUEUE)
    def queued() -> str:
        return note("queued body")

    class Everything(Workflow):
        class Meta:
            name = "tenancy.everything"

        def __init__(self) -> None:
            note("init")

        def status_summary(self) -> str:
            return note("summary")

        def handle(self) -> None:
            note("handle")
            self.action(body).compensate_with(undo, RESULT).run()
            note("after a step")
            self.side_effect("noted", lambda: note("side effect"))
            self.action(async_body).run()
            try:
                self.action(queued).run()
            finally:
                note("while it is left")
            note("after the queued step")
            raise ValueError("roll back")

    return Everything


EVERY_PLACE = {
    "init",
    "handle",
    "body",
    "after a step",
    "side effect",
    "async body",
    "queued body",
    "while it is left",
    "after the queued step",
    "summary",
    "undo",
}


@pytest.mark.covers("M-TEN-1", "M-TEN-3")
def test_each_place_is_in_the_tenant_that_the_run_was_started_in() -> None:
    everything = _everything()
    with tenant("acme"):
        handle = everything.start()
    assert FlowRun.objects.get().tenancy == (
        '{"context":{"tenant":"acme"},"restored":true}'
    )
    seen.clear()

    with tenant("somebody else's"):
        drain()
        assert current.get() == "somebody else's"

    assert handle.refresh().failed()
    assert handle.compensation_state == "completed"
    assert seen == dict.fromkeys(EVERY_PLACE, "acme")


@pytest.mark.covers("M-TEN-4")
def test_runs_that_follow_each_other_do_not_see_each_others_tenant() -> None:
    one_step = _one_step()
    for name in ("acme", "initech"):
        with tenant(name):
            one_step.using(instance_id=name).start()
    with override_settings(SAGA_FLOW={"EXECUTOR": "none"}):
        plain = one_step.using(instance_id="plain").start()

    places: list[str] = []
    for name in ("acme", "initech", "plain"):
        jobs.drive(str(flows.load(name).run_id))
        places.append(seen["body"])
        assert current.get() == "public"

    assert places == ["acme", "initech", "public"]
    assert plain.refresh().completed()


@pytest.mark.covers("M-TEN-4")
@pytest.mark.django_db(transaction=True)
def test_two_threads_work_in_two_tenants_at_once() -> None:
    both = threading.Barrier(2, timeout=20)
    found: dict[str, str] = {}

    @action(name="tenancy.meet")
    def meet() -> None:
        mine = current_step().instance_id
        both.wait()
        found[mine] = current.get()
        both.wait()

    # not through the engine: SQLite lets only one of two writers into its body
    def body_of(name: str) -> None:
        with tenant(name):
            kept = tenancy.captured(restored=None)
        step = StepContext(
            run_id=uuid7(),
            instance_id=name,
            sequence=0,
            attempt=1,
            idempotency_key=name,
            tenancy=kept,
        )
        with tenancy.entered(kept), executing(step):
            assert step.tenancy_context == {"tenant": name}
            meet()
        connection.close()

    threads = [
        threading.Thread(target=body_of, args=(name,)) for name in ("acme", "initech")
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert found == {"acme": "acme", "initech": "initech"}


class Leave(SystemExit):
    """What tells a worker to leave in the middle of a body."""


def _leave() -> None:
    raise Leave


def _suspend(flow: Workflow) -> None:
    flow.signal("never").wait()


def _fail(flow: Workflow) -> None:
    raise ValueError("no")


@pytest.mark.covers("M-TEN-4")
@pytest.mark.parametrize("ending", [_suspend, _fail, lambda _flow: _leave()])
def test_the_tenant_is_left_however_the_pass_ends(
    ending: Callable[[Workflow], None],
) -> None:
    class Ends(Workflow):
        class Meta:
            name = "tenancy.ends"

        def handle(self) -> None:
            note("handle")
            ending(self)

    with tenant("acme"):
        handle = Ends.start()
    try:
        jobs.drive(str(handle.run_id))
    except Leave:
        seen["left"] = "by order"

    assert seen["handle"] == "acme"
    assert current.get() == "public"
    assert ("left" in seen) == (handle.refresh().status == "waiting" and not _waits())


def _waits() -> bool:
    return FlowRun.objects.get().wait_kind == "signal"


@pytest.mark.covers("M-TEN-4")
@pytest.mark.parametrize("dispatch", [{}, {"dispatch": QUEUE}])
def test_the_tenant_is_left_when_a_body_is_told_to_leave(
    dispatch: dict[str, Any],
) -> None:
    @action(name="tenancy.leaving", **dispatch)
    def leaving() -> None:
        note("body")
        _leave()

    class Leaves(Workflow):
        class Meta:
            name = "tenancy.leaves"

        def handle(self) -> None:
            self.action(leaving).run()

    with tenant("acme"):
        Leaves.start()
    with pytest.raises(Leave):
        drain()

    assert seen["body"] == "acme"
    assert current.get() == "public"


@pytest.mark.covers("M-TEN-5")
def test_without_a_restoring_hook_the_context_can_be_read_only() -> None:
    told: list[Any] = []

    @action(name="tenancy.reads")
    def reads() -> None:
        told.append(current_step().tenancy_context)
        note("body")

    class Reads(Workflow):
        class Meta:
            name = "tenancy.reads_it"

        def handle(self) -> None:
            told.append(self.info.tenancy_context)
            note("handle")
            self.action(reads).run()

    capture_only = {**HOOKS, "TENANCY_RESTORE": ""}
    with override_settings(SAGA_FLOW=capture_only):
        with tenant("acme"):
            Reads.start()
        drain()

    assert told == [{"tenant": "acme"}, {"tenant": "acme"}]
    assert seen == {"handle": "public", "body": "public"}


@pytest.mark.covers("M-TEN-6")
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_class_decides_otherwise_than_the_settings(
    *, auto: bool, wanted: bool | None
) -> None:
    class Meta:
        name = "tenancy.decides"
        tenancy = wanted

    with override_settings(SAGA_FLOW={**HOOKS, "TENANCY_AUTO": auto}):
        with tenant("acme"):
            handle = _one_step(Meta).start()
        drain()

    restored = auto if wanted is None else wanted
    assert set(seen.values()) == {"acme" if restored else "public"}
    assert handle.refresh().completed()


@pytest.mark.covers("M-TEN-7")
def test_without_hooks_nothing_happens() -> None:
    class Meta:
        name = "tenancy.no_hooks"
        tenancy = True

    with override_settings(SAGA_FLOW={"EXECUTOR": "none"}):
        with tenant("acme"):
            handle = _one_step(Meta).start()
        drain()

    assert handle.refresh().completed()
    assert set(seen.values()) == {"public"}
    assert FlowRun.objects.get().tenancy is None


def test_what_a_run_was_started_with_stays_whatever_the_class_says_later() -> None:
    class Later:
        name = "tenancy.one_step"
        tenancy = False

    with tenant("acme"):
        _one_step().start()
    _one_step(Later)
    drain()

    assert seen == {"handle": "acme", "body": "acme"}


@contextmanager
def asked(table: str) -> Iterator[list[tuple[str, str]]]:
    """Which tenant was current as each statement on *table* was executed."""
    found: list[tuple[str, str]] = []

    def watch(execute: Any, sql: str, *rest: Any) -> Any:
        if table in sql:
            found.append((current.get(), sql[:90]))
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        yield found


def test_the_engine_works_outside_the_tenant() -> None:
    """A statement on the engine's tables inside the tenant could go to its schema."""
    with tenant("acme"):
        _everything().start()

    with asked("saga_flow_") as statements:
        drain()

    assert len(statements) > 20
    assert [each for each in statements if each[0] != "public"] == []


def test_queries_of_the_hook_are_none_of_handles_own() -> None:
    with override_settings(SAGA_FLOW={**HOOKS, "HANDLE_QUERIES": "error"}):
        with tenant("acme"):
            handle = _one_step().start()
        drain()

    assert handle.refresh().completed()
    assert len(hooks.entered) > 2


def test_a_start_of_a_reservation_captures_and_a_reservation_does_not() -> None:
    one_step = _one_step()
    with tenant("acme"):
        one_step.using(instance_id="held").reserve()
    assert FlowRun.objects.get().tenancy is None

    with tenant("initech"):
        one_step.using(instance_id="held").start()
    drain()

    assert seen == {"handle": "initech", "body": "initech"}


# ------------------------------------------------------------- hooks that fail

GONE = OSError("no such schema")


def test_what_the_capturing_hook_raises_goes_to_whoever_starts() -> None:
    bad = {**HOOKS, "TENANCY_CAPTURE": f"{hooks.HERE}.capture_nothing_storable"}
    with (
        override_settings(SAGA_FLOW=bad),
        pytest.raises(Unserialisable, match="capture_nothing_storable"),
    ):
        _one_step().start()

    assert not FlowRun.objects.exists()


def _started(flow: type[Workflow], *hook: Exception | None) -> Handle[Any]:
    """A run in a tenant, whose restoring hook raises this, one at each call."""
    with tenant("acme"):
        handle: Handle[Any] = flow.start()
    seen.clear()
    hooks.broken[:] = hook
    return handle


def test_a_tenant_that_cant_be_had_breaks_the_pass_off_and_fails_nothing() -> None:
    handle = _started(_one_step(), GONE)

    jobs.drive(str(handle.run_id))
    broken_off = FlowRun.objects.get()
    assert (broken_off.status, broken_off.repairs) == (FlowStatus.WAITING, 1)
    assert "no such schema" in broken_off.last_error
    assert seen == {}

    drain(skip_time=True)
    assert handle.refresh().completed()
    assert set(seen.values()) == {"acme"}


def test_nothing_is_lost_when_handle_cant_go_back_into_its_tenant() -> None:
    handle = _started(_one_step(), None, None, GONE)

    jobs.drive(str(handle.run_id))
    assert seen == {"handle": "acme", "body": "acme"}
    assert ActionRun.objects.get().status == ActionStatus.COMPLETED
    assert "no such schema" in FlowRun.objects.get().last_error

    drain(skip_time=True)
    assert handle.refresh().output() == "body"
    assert ActionRun.objects.get().attempt == 1


def test_handle_cant_swallow_that_its_tenant_is_gone() -> None:
    class Swallows(Workflow):
        class Meta:
            name = "tenancy.swallows"

        def handle(self) -> None:
            try:
                self.uuid4()
            except Exception:  # noqa: BLE001 - what authors write
                note("swallowed")
            note("went on")

    handle = _started(Swallows, None, GONE)

    jobs.drive(str(handle.run_id))

    assert seen == {}
    assert handle.refresh().status == FlowStatus.WAITING


def test_a_pass_that_is_over_stays_over_when_its_tenant_is_gone() -> None:
    class Waits(Workflow):
        class Meta:
            name = "tenancy.waits"

        def handle(self) -> None:
            self.signal("go").wait()

    handle = _started(Waits, None, GONE)

    jobs.drive(str(handle.run_id))

    assert handle.refresh().wait_reason == "waiting for signal 'go'"
    assert FlowRun.objects.get().repairs == 0


def test_a_side_effect_whose_tenant_cant_be_had_is_not_called() -> None:
    class Notes(Workflow):
        class Meta:
            name = "tenancy.notes"

        def handle(self) -> str:
            return self.side_effect("noted", lambda: note("side effect"))

    handle = _started(Notes, None, GONE)

    jobs.drive(str(handle.run_id))
    assert seen == {}
    drain(skip_time=True)

    assert handle.refresh().output() == "side effect"
    assert seen["side effect"] == "acme"


@pytest.mark.parametrize(
    ("options", "hook"),
    [
        # in the pass the hook is asked for handle() and for each attempt of the body
        ({}, (None, GONE, GONE)),
        # handle(), and handle() as it is left; then the job, twice
        ({"dispatch": QUEUE}, (None, None, GONE, GONE)),
    ],
    ids=["inline", "queued"],
)
def test_a_body_that_was_kept_from_beginning_is_tried_again_without_end(
    options: dict[str, Any], hook: tuple[Exception | None, ...]
) -> None:
    once = Retry(attempts=1, non_retryable=(Exception,))
    handle = _started(_one_step(retry=once, **options), *hook)

    drain(skip_time=True)

    assert hooks.broken == []
    assert handle.refresh().output() == "body"
    assert seen == {"handle": "acme", "body": "acme"}
    step = ActionRun.objects.get()
    assert (step.status, step.attempt) == (ActionStatus.COMPLETED, 3)


def test_an_undo_that_was_kept_from_beginning_is_tried_again() -> None:
    handle = _started(_everything())
    hooks.entered.clear()
    drain(skip_time=True)
    calls = len(hooks.entered)
    FlowRun.objects.all().delete()

    # the last one of a rollback with one undo is that undo's own
    handle = _started(_everything(), *[None] * (calls - 1), GONE, GONE, GONE, GONE)
    drain(skip_time=True)

    assert hooks.broken == []
    assert handle.refresh().compensation_state == "completed"
    assert CompensationRun.objects.get().attempt == 5


def test_the_end_of_a_hook_that_fails_changes_no_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handle = _started(_one_step())
    hooks.broken_ends[:] = [GONE] * 4

    drain(skip_time=True)

    assert handle.refresh().output() == "body"
    assert FlowRun.objects.get().repairs == 0
    assert "failed as it went back" in caplog.text


def test_a_run_whose_hook_is_missing_here_waits_for_a_process_that_has_it() -> None:
    handle = _started(_one_step())

    with override_settings(SAGA_FLOW={**HOOKS, "TENANCY_RESTORE": ""}):
        jobs.drive(str(handle.run_id))
    assert "TENANCY_RESTORE" in FlowRun.objects.get().last_error
    assert seen == {}

    drain(skip_time=True)
    assert handle.refresh().completed()


# ------------------------------------------------------------- plans


def test_a_model_instance_is_looked_up_in_the_tenant_by_plan_and_undo() -> None:
    group = Group.objects.create(name="staff")

    @action(name="tenancy.revoke")
    def revoke(group: Group) -> None:
        note("undo")

    body = _step()

    class Grants(Workflow):
        class Meta:
            name = "tenancy.grants"

        def handle(self) -> None:
            self.action(body).compensate_with(revoke, group).run()
            self.signal("never").wait()

    handle = _started(Grants)
    drain()

    with asked("auth_group") as statements:
        handle.compensate()
        drain()

    lookups = [name for name, sql in statements if "name" in sql]
    assert len(lookups) > 1
    assert set(lookups) == {"acme"}
    assert handle.refresh().cancelled()


def test_a_plan_without_its_tenant_changes_nothing() -> None:
    class Waits(Workflow):
        class Meta:
            name = "tenancy.undoable"

        def handle(self) -> None:
            self.action(body).compensate_with(undo).run()
            self.signal("never").wait()

    @action(name="tenancy.plain_undo")
    def undo() -> None:
        note("undo")

    body = _step()
    handle = _started(Waits)
    drain()

    hooks.broken[:] = [GONE]
    with pytest.raises(RollbackNotPlannable, match="no such schema"):
        handle.compensate()

    assert handle.refresh().status == FlowStatus.WAITING
    handle.compensate()
    drain()
    assert (seen["undo"], handle.refresh().cancelled()) == ("acme", True)


# ------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"TENANCY_CAPTURE": ""}, "nothing to restore"),
        ({"TENANCY_CAPTURE": "nowhere.at.all"}, "can't be imported"),
        ({"TENANCY_RESTORE": f"{hooks.HERE}.HERE"}, "not callable"),
    ],
)
def test_hooks_that_are_not_there_are_reported(
    changes: dict[str, str], told: str
) -> None:
    with override_settings(SAGA_FLOW={**HOOKS, **changes}):
        found = [each for each in settings_hold() if each.id == "saga_flow.E019"]

    [message] = found
    assert told in str(message.msg)


def test_good_hooks_are_not_reported() -> None:
    assert "saga_flow.E019" not in {each.id for each in settings_hold()}


@pytest.mark.covers("M-TEN-2")
def test_a_child_works_for_its_parent_s_tenant() -> None:
    child = _one_step()

    class Starts(Workflow):
        class Meta:
            name = "tenancy.starts"

        def handle(self) -> Any:
            return self.child(child).run()

    with override_settings(SAGA_FLOW=HOOKS), tenant("acme"):
        handle = Starts.start()
    with override_settings(SAGA_FLOW=HOOKS):
        drain()

    assert handle.refresh().status is FlowStatus.COMPLETED
    assert seen == {"handle": "acme", "body": "acme"}

"""Payloads sealed by a codec of the host's: what is in the tables, and what if not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from saga_flow import QUEUE, RESULT, ActionFailed, CodecRefused, Workflow, action
from saga_flow.authoring.handle import Handle
from saga_flow.engine import perform
from saga_flow.engine.drive import drive
from saga_flow.models import ActionRun, FlowCommand, FlowRun
from saga_flow.models.fields import payload_columns
from saga_flow.testing import drain, isolated_registry
from tests.support.codecs import CHOOSY, HEXED, OTHER_KEY

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = "canary-7f3a"
Use = Callable[[str], None]


@pytest.fixture
def codec(settings: Any) -> Iterator[Use]:
    def use(path: str) -> None:
        settings.SAGA_FLOW = {**settings.SAGA_FLOW, "CODEC": path}

    with isolated_registry():
        yield use


def written() -> str:
    """Every value of every table of the engine, as the database has it."""
    found: list[str] = []
    with connection.cursor() as cursor:
        for model in apps.get_app_config("saga_flow").get_models():
            cursor.execute(f"SELECT * FROM {model._meta.db_table}")  # noqa: S608 - a table of ours
            found += [str(value) for row in cursor.fetchall() for value in row]
    return "\n".join(found)


def sealed_columns() -> dict[str, set[bool]]:
    """Whether payload columns that are not null are sealed, by column."""
    found: dict[str, set[bool]] = {}
    with connection.cursor() as cursor:
        for model in apps.get_app_config("saga_flow").get_models():
            for column in payload_columns(model):
                cursor.execute(f"SELECT {column} FROM {model._meta.db_table}")  # noqa: S608 - a column of ours
                values = [value for (value,) in cursor.fetchall() if value is not None]
                if values:
                    is_sealed = {value.startswith("~:") for value in values}
                    found[column] = found.get(column, set()) | is_sealed
    return found


def a_full_story() -> Handle[Any]:
    """A run that leaves a payload in every column that has one."""

    @action(name="codec.refund")
    def refund(what: str, receipt: str) -> None:
        assert (what, receipt) == (CANARY, f"{CANARY} receipt")

    @action(name="codec.charge")
    def charge(what: str) -> str:
        return f"{what} receipt"

    @action(name="codec.fail", optional=True, fallback=CANARY)
    def give_up() -> str:
        raise RuntimeError("no")

    @action(name="codec.end")
    def end() -> None:
        raise RuntimeError("the end")

    class Story(Workflow):
        class Meta:
            name = "codec.story"

        def handle(self, what: str) -> str:
            self.memo(what=what)
            self.action(charge, what).compensate_with(refund, what, RESULT).run()
            assert self.action(give_up).run() == CANARY
            assert self.side_effect("known", lambda: what) == CANARY
            assert self.signal("go", str).wait() == CANARY
            assert self.interrupt("ask", str) == CANARY
            self.action(end).run()
            return what

    handle = Story.using(instance_id="story", memo={"who": CANARY}).start(CANARY)
    drain()
    handle.signal("go", CANARY)
    drain()
    handle.resume(CANARY)
    drain()
    return handle.refresh()


def test_no_payload_stands_in_any_table(codec: Use) -> None:
    codec(HEXED)

    handle = a_full_story()

    assert handle.failed()
    assert handle.compensation_state == "completed"
    assert handle.memo == {"who": CANARY, "what": CANARY}
    assert CANARY not in written()
    assert sealed_columns() == {
        column: {True}
        for column in (
            "arguments",
            "error",
            "fallback",
            "memo",
            "payload",
            "result",
            "undo_arguments",
            "value",
        )
    }


def test_the_scan_finds_a_payload_that_is_not_sealed(codec: Use) -> None:
    codec("")

    a_full_story()

    assert CANARY in written()


def test_rows_from_before_the_codec_are_read_on(codec: Use) -> None:
    seen: list[str] = []

    @action(name="codec.greet")
    def greet(name: str) -> str:
        seen.append(name)
        return f"hello {name}"

    class Greeting(Workflow):
        class Meta:
            name = "codec.greeting"

        def handle(self, name: str) -> str:
            first = self.action(greet, name).run()
            return first + self.signal("more", str).wait()

    handle = Greeting.start("Ada")
    drain()
    codec(HEXED)
    handle.signal("more", "!")
    drain()

    assert handle.refresh().output() == "hello Ada!"
    assert seen == ["Ada"]


def test_a_pass_that_cant_open_what_is_recorded_interrupts_the_run(codec: Use) -> None:
    calls: list[str] = []

    @action(name="codec.charge")
    def charge(card: str) -> str:
        calls.append(card)
        return card

    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self, card: str) -> str:
            try:
                paid = self.action(charge, card).run()
                self.signal("go").wait()
            except Exception:  # noqa: BLE001 - an author may swallow what he likes
                return "swallowed"
            return paid

    codec(HEXED)
    handle = Order.start("4111")
    drain()
    handle.signal("go")
    codec(OTHER_KEY)
    drain()

    assert handle.refresh().status == "interrupted"
    assert "SAGA_FLOW['CODEC']" in handle.wait_reason
    assert FlowRun.objects.get().error is None

    codec(HEXED)
    handle.resume()
    drain()

    assert handle.refresh().output() == "4111"
    assert calls == ["4111"]


def test_a_mismatch_setting_does_not_make_it_a_failure(
    codec: Use, settings: Any
) -> None:
    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self, card: str) -> str:
            return card

    codec(HEXED)
    handle = Order.start("4111")
    settings.SAGA_FLOW = {**settings.SAGA_FLOW, "HISTORY_MISMATCH": "fail"}
    codec(OTHER_KEY)
    drain()

    assert handle.refresh().status == "interrupted"


def test_a_queued_step_waits_for_a_process_that_can_open_it(codec: Use) -> None:
    calls: list[str] = []

    @action(name="codec.post", dispatch=QUEUE)
    def post(letter: str) -> str:
        calls.append(letter)
        return letter

    class Posting(Workflow):
        class Meta:
            name = "codec.posting"

        def handle(self, letter: str) -> str:
            return self.action(post, letter).run()

    codec(HEXED)
    handle = Posting.start("dear")
    drive(handle.run_id)
    step = ActionRun.objects.get()
    codec(OTHER_KEY)

    assert perform.perform(step.pk) is None
    step.refresh_from_db()
    assert (step.status, step.attempt) == ("pending", 0)

    codec(HEXED)
    assert perform.perform(step.pk) == handle.run_id
    drive(handle.run_id)
    assert handle.refresh().output() == "dear"
    assert calls == ["dear"]


def test_a_rollback_waits_for_a_process_that_can_open_its_undos(codec: Use) -> None:
    undone: list[str] = []

    @action(name="codec.refund")
    def refund(card: str) -> None:
        undone.append(card)

    @action(name="codec.charge", compensate=refund)
    def charge(card: str) -> None: ...

    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self) -> None:
            self.action(charge, "first").run()
            self.action(charge, "second").run()
            self.signal("never").wait()

    codec(HEXED)
    handle = Order.start()
    drain()
    codec(OTHER_KEY)

    with pytest.raises(Exception, match="can't be rolled back here") as caught:
        handle.compensate()

    assert "SAGA_FLOW['CODEC']" in str(caught.value)
    assert handle.refresh().status == "waiting"

    codec(HEXED)
    handle.compensate()
    codec(OTHER_KEY)
    drain()
    assert handle.refresh().status == "cancelling"
    assert undone == []
    assert "SAGA_FLOW['CODEC']" in FlowRun.objects.get().last_error


def test_a_result_that_cant_be_sealed_fails_its_step_and_its_effect_stands(
    codec: Use,
) -> None:
    calls: list[int] = []

    @action(name="codec.charge")
    def charge() -> str:
        calls.append(1)
        return "indigestible"

    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self) -> str:
            try:
                return self.action(charge).run()
            except ActionFailed as error:
                return error.type

    codec(CHOOSY)
    handle = Order.start()
    drain()

    assert handle.refresh().output() == "ResultNotSerializable"
    assert calls == [1]
    assert ActionRun.objects.get().in_doubt


def test_an_error_that_cant_be_sealed_is_recorded_without_its_words(
    codec: Use,
) -> None:
    @action(name="codec.charge")
    def charge() -> str:
        raise ValueError("indigestible")

    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self) -> str:
            try:
                return self.action(charge).run()
            except ActionFailed as error:
                return f"{error.type} {error.message}"

    codec(CHOOSY)
    handle = Order.start()
    drain()

    assert str(handle.refresh().output()).startswith("ValueError SAGA_FLOW['CODEC']")


def test_a_start_that_cant_be_sealed_leaves_nothing(codec: Use) -> None:
    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self, what: str) -> str:
            return what

    codec(CHOOSY)

    with pytest.raises(CodecRefused, match="Nothing was written"):
        Order.start("indigestible")

    assert not FlowRun.objects.exists()
    assert not FlowCommand.objects.exists()


def test_a_repeated_request_is_known_by_what_it_says_not_by_its_seal(
    codec: Use,
) -> None:
    class Order(Workflow):
        class Meta:
            name = "codec.order"

        def handle(self, what: str) -> str:
            return what

    codec(HEXED)
    first = Order.using(instance_id="o", idempotency_key="k").start("a")
    codec("")
    again = Order.using(instance_id="o", idempotency_key="k").start("a")

    assert again.run_id == first.run_id

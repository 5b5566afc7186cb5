"""Starts that are refused: each says what is wrong, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import TestCase, override_settings

from saga_flow import Workflow, action, flows
from saga_flow.exceptions import (
    CommandConflict,
    DefinitionError,
    DuplicateInstance,
    InsideTransaction,
    InvalidFilter,
    InvalidName,
    NotInWorkflow,
    PayloadTooLarge,
    SagaFlowError,
    UnknownDefinition,
    UnknownOption,
    Unserialisable,
    WrongArguments,
)
from saga_flow.models import FlowRun
from saga_flow.testing import isolated_registry
from tests.integration.refusals.conftest import WritesOnly
from tests.integration.refusals.told import refused

pytestmark = pytest.mark.django_db


def _checkout() -> Any:
    class Checkout(Workflow):
        class Meta:
            name = "refusals.checkout"

        def handle(self, order: Any, cents: int = 0) -> str:
            return f"{order} sold for {cents}"

    return Checkout


class Basket:
    """Something that JSON has no word for."""


ARGUMENTS: dict[str, tuple[Callable[[], tuple[Any, ...]], tuple[str, ...]]] = {
    "an object deep inside": (
        lambda: ({"lines": [1, {"basket": Basket()}]},),
        ("argument 'order'", "order.lines[1].basket", "Basket"),
    ),
    "a set": (lambda: ({1, 2},), ("argument 'order'", "set")),
    "a number that is none": (
        lambda: ({"price": float("nan")},),
        ("order.price", "float"),
    ),
    "a time without a zone": (
        lambda: (datetime(2030, 1, 1),),  # noqa: DTZ001 - what is refused
        ("order", "datetime", "aware"),
    ),
    "a key that is no text": (lambda: ({1: "one"},), ("order", "key")),
    "a model instance": (
        lambda: (Group(pk=1, name="staff"),),
        ("order", "Group"),
    ),
    "a lambda": (lambda: (lambda: 1,), ("order", "function")),
}


@pytest.mark.parametrize("what", ARGUMENTS)
@pytest.mark.parametrize("way", ["start", "attempt_start", "run_sync"])
def test_an_argument_that_cannot_be_stored(
    way: str, what: str, writes_only: WritesOnly
) -> None:
    make, parts = ARGUMENTS[what]
    start = getattr(_checkout().using(instance_id="one"), way)

    with writes_only(), refused(Unserialisable, "refusals.checkout", *parts):
        start(*make())


@pytest.mark.parametrize(
    ("args", "kwargs", "parts"),
    [
        ((), {}, ("order",)),
        (("a", 1, "more"), {}, ("order", "cents")),
        (("a",), {"cnts": 1}, ("cnts", "cents")),
        (("a",), {"order": "b"}, ("order",)),
    ],
    ids=["missing", "too many", "unknown", "twice"],
)
def test_arguments_that_do_not_fit_the_signature(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    parts: tuple[str, ...],
    writes_only: WritesOnly,
) -> None:
    with writes_only(), refused(WrongArguments, "refusals.checkout", *parts):
        _checkout().start(*args, **kwargs)


def test_a_payload_over_the_limit(writes_only: WritesOnly) -> None:
    with writes_only(), refused(PayloadTooLarge, "order", "2,097,152", "key"):
        _checkout().start("x" * (2 * 1024 * 1024), 5)


def test_a_payload_over_a_limit_of_the_settings(writes_only: WritesOnly) -> None:
    with (
        override_settings(SAGA_FLOW={"MAX_PAYLOAD_BYTES": 100}),
        writes_only(),
        refused(PayloadTooLarge, "order", "100"),
    ):
        _checkout().start("x" * 100)


INSTANCE_IDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "too long": ("x" * 192, ("192", "191")),
    "empty": ("", ("empty", "191")),
    "a space": ("order 42", ("' '", "letters, digits and . _ : -")),
    "a slash": ("order/42", ("'/'",)),
    "a letter of another alphabet": ("überweisung", ("'ü'", "ASCII")),
    "a line's end": ("order\n", (r"'\n'",)),
    "a number": (42, ("42", "int", "str")),
}


@pytest.mark.parametrize("what", INSTANCE_IDS)
def test_an_ill_formed_instance_id(what: str, writes_only: WritesOnly) -> None:
    value, parts = INSTANCE_IDS[what]

    with writes_only(), refused(InvalidName, "instance_id", *parts):
        _checkout().using(instance_id=value).start("order")


@pytest.mark.parametrize("value", ["x" * 191, "a", "A.b_c:d-9"])
def test_an_instance_id_at_its_limits_is_taken(value: str) -> None:
    _checkout().using(instance_id=value).start("order")

    assert flows.load(value).status == "pending"


OPTIONS: dict[str, tuple[dict[str, Any], type[SagaFlowError], tuple[str, ...]]] = {
    "unknown": (
        {"instance": "one"},
        UnknownOption,
        ("instance", "Did you mean 'instance_id'?"),
    ),
    "a limit in seconds": (
        {"expires_in": 30},
        DefinitionError,
        ("expires_in", "30", "timedelta"),
    ),
    "a delay in the past": (
        {"run_after": timedelta(seconds=-1)},
        DefinitionError,
        ("run_after", "negative"),
    ),
    "a policy by name": (
        {"on_duplicate": "reject"},
        DefinitionError,
        ("on_duplicate", "'reject'", "Duplicate.REJECT"),
    ),
    "tags in a list": (
        {"tags": ["a"]},
        WrongArguments,
        ("tags", "list", "dict"),
    ),
    "an unsaved subject": (
        {"subject": Group(name="new")},
        DefinitionError,
        ("subject", "not saved"),
    ),
    "a memo that can't be stored": (
        {"memo": {"basket": Basket()}},
        Unserialisable,
        ("memo", "basket", "Basket"),
    ),
    "an overlong queue": (
        {"queue": "q" * 101},
        InvalidName,
        ("queue", "101", "100"),
    ),
    "an empty idempotency key": (
        {"idempotency_key": ""},
        DefinitionError,
        ("idempotency_key", "empty"),
    ),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_an_option_that_is_wrong(what: str, writes_only: WritesOnly) -> None:
    options, error, parts = OPTIONS[what]

    with writes_only(), refused(error, *parts):
        _checkout().using(**options).start("order")


def test_a_durable_name_that_nobody_has(writes_only: WritesOnly) -> None:
    _checkout()

    with (
        writes_only(),
        refused(UnknownDefinition, "refusals.chekout", "'refusals.checkout'"),
    ):
        flows.workflow("refusals.chekout").start("order")


def test_an_instance_id_that_is_taken_leaves_the_transaction_usable(
    writes_only: WritesOnly,
) -> None:
    start = _checkout().using(instance_id="one")
    start.start("order")

    # the refusal itself is recorded, and nothing else
    with writes_only(FlowCommand=1), transaction.atomic():
        with refused(DuplicateInstance, "'one'", "pending", "on_duplicate"):
            start.start("order")
        assert FlowRun.objects.count() == 1


def test_a_reservation_without_an_instance_id(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "instance_id", "reserve"):
        _checkout().using().reserve()


def test_giving_up_what_is_not_reserved(writes_only: WritesOnly) -> None:
    with writes_only(FlowCommand=1), refused(CommandConflict, "'one'", "not reserved"):
        flows.release("one")


def test_an_engine_call_in_init_is_found_by_the_start(writes_only: WritesOnly) -> None:
    @action(name="refusals.note")
    def note() -> None: ...

    class Eager(Workflow):
        class Meta:
            name = "refusals.eager"

        def __init__(self) -> None:
            self.action(note).run()

        def handle(self) -> None: ...

    with writes_only(), refused(NotInWorkflow, "Eager", "self.action()", "__init__()"):
        Eager.start()


def test_run_sync_inside_an_open_transaction(writes_only: WritesOnly) -> None:
    start = _checkout().using(instance_id="one")

    with (
        writes_only(),
        refused(
            InsideTransaction, "refusals.checkout.run_sync()", "transaction", "start()"
        ),
        transaction.atomic(),
    ):
        start.run_sync("order")


class InsideATestCase(TestCase):
    """The block that Django opens around a test is no transaction of the author's."""

    def test_run_sync_works(self) -> None:
        with isolated_registry():
            handle = _checkout().using(instance_id="one").run_sync("order")

            assert handle.output() == "order sold for 0"

    def test_run_sync_inside_a_block_of_the_test_is_refused_all_the_same(self) -> None:
        with (
            isolated_registry(),
            refused(InsideTransaction, "run_sync()"),
            transaction.atomic(),
        ):
            _checkout().using(instance_id="one").run_sync("order")
        assert not FlowRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_run_sync_is_refused_where_commits_are_real_too(
    writes_only: WritesOnly,
) -> None:
    with writes_only(), refused(InsideTransaction, "run_sync()"), transaction.atomic():
        _checkout().using(instance_id="one").run_sync("order")


def test_loading_by_what_is_no_run_id(writes_only: WritesOnly) -> None:
    with writes_only(), refused(DefinitionError, "'order-42'", "flows.load()"):
        flows.load_run("order-42")


def test_an_unknown_filter(writes_only: WritesOnly) -> None:
    with writes_only(), refused(InvalidFilter, "'statuss'", "Did you mean 'status'?"):
        flows.filter(statuss="waiting").count()

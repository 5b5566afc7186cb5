"""Starting runs: what is ordered, and what is refused before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ImproperlyConfigured

from saga_flow import (
    CommandRejected,
    DefinitionError,
    Duplicate,
    InsideTransaction,
    InvalidName,
    NotInWorkflow,
    PayloadTooLarge,
    Principal,
    UnknownDefinition,
    UnknownOption,
    Unserialisable,
    Workflow,
    WrongArguments,
    flows,
)
from saga_flow.authoring import ports
from saga_flow.records import StartOrder
from tests.unit.authoring.doors import FakeClient, FakeQueries, snapshot


class Checkout(Workflow):
    class Meta:
        version = "2"
        queue = "payments"
        expires_in = timedelta(hours=6)
        tags = {"team": "checkout"}

    def handle(self, order_id: str, cents: int = 5) -> dict[str, int]:
        return {order_id: cents}


class Plain(Workflow):
    def handle(self, order_id: object = None) -> None: ...


class CallsInInit(Workflow):
    def __init__(self) -> None:
        self.started = self.now()

    def handle(self) -> None: ...


class Abstract(Workflow):
    class Meta:
        abstract = True


def the_order(client: FakeClient) -> StartOrder:
    [(kind, order, _)] = client.calls
    assert kind == "start"
    assert isinstance(order, StartOrder)
    return order


def test_a_start_orders_what_meta_says(client: FakeClient) -> None:
    handle = Checkout.start("o", cents=7)

    order = the_order(client)
    assert order.workflow_name == f"{__name__}.Checkout"
    assert order.arguments == '{"args":["o",7],"kwargs":{}}'
    assert (order.version, order.queue) == ("2", "payments")
    assert order.expires_in == timedelta(hours=6)
    assert order.tags == {"team": "checkout"}
    assert '"order_id"' in order.contract
    assert (handle.run_id, handle.instance_id) == (client.run_id, "made-up")
    assert not handle.is_pinned


def test_options_win_over_meta_and_tags_are_added(client: FakeClient) -> None:
    Checkout.using(
        instance_id="order-42",
        tags={"channel": "web"},
        memo={"note": "x"},
        business_key="orders.order:42",
        queue="slow",
        expires_in=timedelta(hours=1),
        run_after=timedelta(minutes=5),
        on_duplicate=Duplicate.RETURN_EXISTING,
        version="3",
        tenant="acme",
    ).start("o")

    order = the_order(client)
    assert order == StartOrder(
        workflow_name=order.workflow_name,
        contract=order.contract,
        arguments='{"args":["o"],"kwargs":{}}',
        instance_id="order-42",
        tags={"team": "checkout", "channel": "web"},
        memo='{"note":"x"}',
        business_key="orders.order:42",
        queue="slow",
        expires_in=timedelta(hours=1),
        run_after=timedelta(minutes=5),
        on_duplicate=Duplicate.RETURN_EXISTING,
        version="3",
        tenant="acme",
    )


def test_options_add_up(client: FakeClient) -> None:
    flows.create(Checkout).using(queue="slow").using(instance_id="x").start("o")

    order = the_order(client)
    assert (order.queue, order.instance_id) == ("slow", "x")


def test_a_start_by_durable_name(client: FakeClient) -> None:
    flows.workflow(f"{__name__}.Checkout").start("o")

    assert the_order(client).arguments == '{"args":["o"],"kwargs":{}}'


@pytest.mark.covers("M-RUN-5")
def test_an_unknown_durable_name_is_refused(client: FakeClient) -> None:
    with pytest.raises(UnknownDefinition, match="Did you mean"):
        flows.workflow(f"{__name__}.Chekout").start("o")
    assert client.calls == []


@pytest.mark.parametrize(
    ("principal", "stored"),
    [
        (None, Principal()),
        ("nightly job", Principal(label="nightly job")),
        (Principal(type="token", id="7"), Principal(type="token", id="7")),
        (User(pk=3, username="ann"), Principal(type="user", id="3", label="ann")),
        (AnonymousUser(), Principal(type="anonymous", label="anonymous")),
    ],
    ids=["nobody", "text", "principal", "user", "anonymous"],
)
def test_who_asks_is_kept_as_text(
    client: FakeClient, principal: Any, stored: Principal
) -> None:
    Plain.using(principal=principal, idempotency_key="req-1").start()

    [(_, _, request)] = client.calls
    assert request.principal == stored
    assert (request.idempotency_key, request.source) == ("req-1", "python")


def test_a_subject_becomes_the_business_key(client: FakeClient) -> None:
    Plain.using(subject=User(pk=42)).start()

    assert the_order(client).business_key == "auth.user:42"


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"instance": "x"}, UnknownOption, "no option 'instance'. Did you mean"),
        ({"instance_id": ""}, InvalidName, "is empty; it takes 1 to 191"),
        ({"instance_id": "x" * 192}, InvalidName, "has 192 characters"),
        ({"instance_id": "order 42"}, InvalidName, "holds ' '"),
        ({"instance_id": 42}, InvalidName, "is 42, of type int"),
        ({"queue": "a b"}, InvalidName, r"queue=\.\.\."),
        ({"version": "x" * 65}, InvalidName, "has 65 characters"),
        ({"tenant": "a/b"}, InvalidName, "tenant"),
        ({"tags": {"n": 1}}, InvalidName, r"tags\['n'\] is 1"),
        ({"tags": ["x"]}, WrongArguments, "takes a dict"),
        ({"memo": {"x": object()}}, Unserialisable, r"memo can't be stored: value\.x"),
        ({"memo": "note"}, DefinitionError, "memo is of type str"),
        ({"business_key": "x" * 192}, InvalidName, "business_key has 192"),
        ({"expires_in": 60}, DefinitionError, "takes a timedelta"),
        ({"run_after": -timedelta(1)}, DefinitionError, "is negative"),
        ({"on_duplicate": "reject"}, DefinitionError, r"takes Duplicate\.REJECT"),
        ({"idempotency_key": ""}, DefinitionError, "leave it out"),
        ({"principal": 5}, DefinitionError, "takes a user, a str or"),
        ({"subject": "order"}, DefinitionError, "is no model instance"),
        ({"subject": User}, DefinitionError, "is no model instance"),
        ({"subject": User()}, DefinitionError, "is not saved"),
        (
            {"subject": User(pk=1), "business_key": "x"},
            DefinitionError,
            "give one of them",
        ),
    ],
)
def test_an_illegal_option_is_refused_where_it_is_written(
    client: FakeClient, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Plain.using(**options)
    assert client.calls == []


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [
        ((), WrongArguments, "missing a required argument: 'order_id'"),
        (("o", 1, 2), WrongArguments, "too many positional arguments"),
        (({"a": [object()]},), Unserialisable, r"order_id\.a\[0\]"),
        ((User(pk=1),), Unserialisable, "order_id is of type User"),
    ],
    ids=["too few", "too many", "unserialisable", "model instance"],
)
def test_start_arguments_are_refused_before_a_row_is_written(
    client: FakeClient, args: tuple[Any, ...], error: type[Exception], said: str
) -> None:
    start = Checkout.using(instance_id="x")
    for call in (start.start, start.attempt_start, start.run_sync):
        with pytest.raises(error, match=said):
            call(*args)
    assert client.calls == []


def test_an_oversized_argument_is_refused(client: FakeClient, settings: Any) -> None:
    settings.SAGA_FLOW = {"MAX_PAYLOAD_BYTES": 100}

    with pytest.raises(PayloadTooLarge, match="'order_id'"):
        Checkout.start("x" * 100)
    assert client.calls == []


def test_an_engine_call_in_init_shows_at_the_start(client: FakeClient) -> None:
    with pytest.raises(NotInWorkflow, match=r"CallsInInit: self\.now\(\)"):
        CallsInInit.start()
    assert client.calls == []


def test_an_abstract_class_or_none_at_all_can_t_be_started(client: FakeClient) -> None:
    with pytest.raises(UnknownDefinition, match="Abstract has no durable name"):
        Abstract.start()
    not_a_class: Any = "shop.checkout"
    with pytest.raises(DefinitionError, match=r"flows\.workflow\('app\.name'\)"):
        flows.create(not_a_class)
    assert client.calls == []


def test_a_rejection_is_raised_or_answered(client: FakeClient) -> None:
    client.rejection = "instance_already_started"

    with pytest.raises(CommandRejected) as caught:
        Checkout.start("o")
    assert caught.value.reason == "instance_already_started"
    assert not Checkout.using().attempt_start("o").accepted


def test_run_sync_drives_the_run_and_reads_it(
    client: FakeClient, queries: FakeQueries
) -> None:
    queries.script = [snapshot(run_id=client.run_id, instance_id="order-43")]
    handle = Checkout.using(instance_id="order-43").run_sync("o")

    assert client.calls[1:] == [("drive", client.run_id)]
    assert handle.status == "waiting"
    assert queries.targets[0].instance_id == "order-43"


def test_run_sync_is_refused_in_a_transaction_before_a_row_is_written(
    client: FakeClient,
) -> None:
    client.inside = True

    with pytest.raises(InsideTransaction, match=r"Checkout\.run_sync\(\)"):
        Checkout.using().run_sync("o")
    assert client.calls == []


def test_a_reservation_has_no_arguments(client: FakeClient) -> None:
    handle = Checkout.using(instance_id="order-44").reserve()

    assert the_order(client).arguments is None
    assert handle.instance_id == "order-44"


def test_a_reservation_needs_an_instance_id(client: FakeClient) -> None:
    with pytest.raises(DefinitionError, match="so it needs one"):
        Checkout.using().reserve()
    assert client.calls == []


def test_a_reservation_is_released(client: FakeClient) -> None:
    flows.release("order-44", tenant="acme", options={"reason": "sold out"})

    [(kind, target, request)] = client.calls
    assert (kind, target.instance_id, target.tenant) == ("release", "order-44", "acme")
    assert request.reason == "sold out"
    client.rejection = "conflict"
    with pytest.raises(CommandRejected):
        flows.release("order-44")


def test_nothing_can_be_started_before_the_app_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ports, "_Bound", SimpleNamespace(client=None, queries=None))

    with pytest.raises(ImproperlyConfigured, match=r"django\.setup\(\)"):
        Checkout.start("o")
    with pytest.raises(ImproperlyConfigured, match="INSTALLED_APPS"):
        flows.load("x")


def test_a_start_can_be_used_again(client: FakeClient) -> None:
    start = Checkout.using(queue="slow")
    start.start("a")
    start.start("b")

    first, second = (call[1] for call in client.calls)
    assert replace(first, arguments=second.arguments) == second

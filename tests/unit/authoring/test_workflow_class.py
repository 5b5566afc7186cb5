"""A workflow class, before anything runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from saga_flow import (
    DefinitionError,
    DuplicateName,
    InvalidName,
    Signal,
    UnknownDefinition,
    UnknownOption,
    Workflow,
    registry,
)


@dataclass
class Approval:
    approved: bool


def _handle(self: Workflow) -> None: ...


def a_class(meta: dict[str, Any] | None = None, **body: Any) -> type[Workflow]:
    """Return a workflow class with this Meta and body."""
    body.setdefault("handle", _handle)
    if meta is not None:
        body["Meta"] = type("Meta", (), meta)
    return type("Flow", (Workflow,), {"__module__": __name__, **body})


def definition_of(cls: type[Workflow]) -> registry.WorkflowDefinition:
    return registry.workflow(registry.workflow_name(cls.__module__, cls.__qualname__))


def test_meta_makes_the_definition() -> None:
    cls = a_class(
        {
            "name": "orders.checkout",
            "version": "2",
            "queue": "payments",
            "expires_in": timedelta(hours=6),
            "tags": {"team": "checkout"},
        }
    )

    definition = registry.workflow("orders.checkout")
    assert definition.cls is cls
    assert (definition.version, definition.queue) == ("2", "payments")
    assert definition.expires_in == timedelta(hours=6)
    assert definition.tags == {"team": "checkout"}


def test_without_meta_the_name_is_made_of_module_and_class() -> None:
    assert definition_of(a_class()).name == f"{__name__}.Flow"


@pytest.mark.parametrize(
    ("meta", "error", "said"),
    [
        ({"quue": "x"}, UnknownOption, "Flow.Meta has no option 'quue'. Did you mean"),
        ({"child_policy": 1}, UnknownOption, "child_policy is not available yet"),
        ({"name": "a b"}, InvalidName, "Flow.Meta.name is 'a b', which holds ' '"),
        ({"name": "x" * 192}, InvalidName, "has 192 characters"),
        ({"version": 2}, InvalidName, "Flow.Meta.version is 2, of type int"),
        ({"queue": ""}, InvalidName, "Flow.Meta.queue is empty"),
        ({"expires_in": 60}, DefinitionError, "takes a timedelta"),
        ({"tags": {"n": 1}}, InvalidName, r"Flow.Meta.tags\['n'\] is 1"),
        ({"abstract": 1}, DefinitionError, "abstract is 1; it takes a bool"),
    ],
)
def test_an_illegal_meta_is_refused(
    meta: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        a_class(meta)


async def _async(self: Any) -> None: ...


async def _async_generator(self: Any) -> Any:
    yield


def _generator(self: Any) -> Any:
    yield


def _init(self: Any, order_id: str) -> None: ...


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"handle": Workflow.handle}, r"has no handle\(\); write one"),
        ({"handle": _async}, "is async; it is replayed from the top"),
        ({"handle": _async_generator}, "is async"),
        ({"handle": _generator}, "yields"),
        ({"handle": 5}, "is no method"),
        ({"handle": staticmethod(print)}, "is no method"),
        ({"__init__": _init}, "__init__ takes 'order_id'"),
        ({"start": 5}, r"Flow\.start hides what every workflow has"),
        ({"signal": Signal(str)}, r"Flow\.signal hides"),
        ({"_bind": 5}, r"Flow\._bind hides"),
    ],
)
def test_a_class_that_can_t_be_driven_is_refused(
    body: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError, match=said):
        a_class(**body)


def test_a_refused_class_is_not_registered() -> None:
    with pytest.raises(DefinitionError):
        a_class({"name": "shop.bad"}, handle=_async)

    with pytest.raises(UnknownDefinition):
        registry.workflow("shop.bad")


def test_an_abstract_class_hands_its_options_down_but_no_name() -> None:
    class Base(Workflow):
        class Meta:
            abstract = True
            queue = "payments"

    class Child(Base):
        def handle(self) -> None: ...

    class Named(Child):
        class Meta(Base.Meta):
            name = "shop.named"
            version = "3"

    assert definition_of(Child).queue == "payments"
    assert definition_of(Named).name == "shop.named"
    assert (definition_of(Named).queue, definition_of(Named).version) == (
        "payments",
        "3",
    )
    with pytest.raises(UnknownDefinition, match=r"Base has no durable name"):
        registry.workflow_name(Base.__module__, Base.__qualname__)


def test_two_classes_of_one_name_are_refused() -> None:
    class First(Workflow):
        class Meta:
            name = "shop.checkout2"

        def handle(self) -> None: ...

    with pytest.raises(DuplicateName, match=r"can't be the workflow 'shop\.checkout2'"):

        class Second(Workflow):
            class Meta:
                name = "shop.checkout2"

            def handle(self) -> None: ...


def test_the_same_class_again_replaces_itself_silently() -> None:
    a_class({"name": "shop.again"})
    second = a_class({"name": "shop.again"})

    assert registry.workflow("shop.again").cls is second


def test_handle_may_come_from_a_mixin_and_init_may_have_defaults() -> None:
    class Mixin:
        def handle(self, n: int) -> int:
            return n

    class Mixed(Mixin, Workflow):
        def __init__(self, seen: tuple[int, ...] = ()) -> None:
            self.seen = seen

    assert definition_of(Mixed).result_annotation is int


def test_declared_signals_and_parameters_make_the_contract() -> None:
    class Base(Workflow):
        class Meta:
            abstract = True

        approval = Signal(Approval)
        dropped = Signal(str)

    class Checkout(Base):
        dropped = None  # type: ignore[assignment] # a subclass may take one back
        note = Signal(str)

        def handle(self, order_id: str, *rest: int, cents: int = 5) -> None: ...

    definition = definition_of(Checkout)

    assert definition.signals == {"approval": Approval, "note": str}
    assert json.loads(definition.contract) == {
        "parameters": [
            {
                "name": "order_id",
                "kind": "positional_or_keyword",
                "required": True,
                "type": "str",
            },
            {
                "name": "rest",
                "kind": "var_positional",
                "required": False,
                "type": "int",
            },
            {
                "name": "cents",
                "kind": "keyword_only",
                "required": False,
                "type": "int",
            },
        ],
        "signals": {
            "approval": {"type": f"{__name__}.Approval"},
            "note": {"type": "str"},
        },
    }


def test_one_signal_object_has_one_name() -> None:
    one = Signal(str)
    with pytest.raises(DefinitionError, match="declare one of its own"):
        a_class(one=one, other=one)


def test_a_declared_signal_can_t_be_overwritten() -> None:
    flow = a_class(approval=Signal(Approval))()

    with pytest.raises(AttributeError, match="'approval' is a declared signal"):
        flow.approval = True  # type: ignore[attr-defined]

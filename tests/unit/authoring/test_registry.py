"""Durable names and what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.apps import apps

from saga_flow import (
    DuplicateName,
    InvalidName,
    UnknownDefinition,
    Workflow,
    action,
    registry,
)
from saga_flow.registry import ActionDefinition, Entry


def charge() -> None: ...


def entry(
    qualname: str = "charge",
    module: str = "examples.shop.somewhere",
    **options: object,
) -> Entry[ActionDefinition]:
    build: Callable[[str], ActionDefinition] = lambda name: ActionDefinition(  # noqa: E731
        name=name, function=charge
    )
    return Entry(module=module, qualname=qualname, build=build, **options)  # type: ignore[arg-type]


def test_the_default_name_is_made_of_app_label_and_attribute() -> None:
    registry.register_action(entry())

    assert registry.action_name("examples.shop.somewhere", "charge") == "shop.charge"
    assert registry.action("shop.charge").name == "shop.charge"


def test_outside_every_app_the_module_stands_for_the_label() -> None:
    registry.register_action(entry(module="scripts.nightly"))

    assert registry.action("scripts.nightly.charge").function is charge


def test_a_default_name_that_is_ill_formed_is_refused() -> None:
    with pytest.raises(InvalidName, match="the default name of"):
        registry.register_action(entry(qualname="größe"))


def test_an_alias_finds_the_same_definition_under_its_present_name() -> None:
    registry.register_action(entry(name="shop.charge", aliases=("shop.bill",)))

    assert registry.action("shop.bill").name == "shop.charge"


@pytest.mark.parametrize("aliases", [(), ("shop.take",)])
def test_two_definitions_of_one_name_are_refused(aliases: tuple[str, ...]) -> None:
    registry.register_action(entry(name="shop.charge"))
    second = entry("bill", name="shop.take" if aliases else "shop.charge")
    if aliases:
        registry.register_action(second)
        second = entry("third", name="shop.third", aliases=aliases)

    with pytest.raises(DuplicateName, match="Give one of them a name of its own"):
        registry.register_action(second)


def test_a_refused_duplicate_leaves_the_first_in_place() -> None:
    registry.register_action(entry(name="shop.charge"))
    with pytest.raises(DuplicateName):
        registry.register_action(entry("bill", name="shop.charge"))

    place = ("examples.shop.somewhere", "charge")
    assert registry.action_name(*place) == "shop.charge"


def test_what_stands_at_the_same_place_replaces_it_silently() -> None:
    registry.register_action(entry(name="shop.old", aliases=("shop.older",)))
    registry.register_action(entry(name="shop.new"))

    assert registry.action("shop.new").name == "shop.new"
    for gone in ("shop.old", "shop.older"):
        with pytest.raises(UnknownDefinition):
            registry.action(gone)


def test_an_unknown_name_suggests_the_nearest() -> None:
    registry.register_action(entry(name="shop.charge"))

    with pytest.raises(UnknownDefinition, match=r"Did you mean 'shop\.charge'\?"):
        registry.action("shop.chrage")
    with pytest.raises(UnknownDefinition, match=r"No workflow named 'shop\.charge'"):
        registry.workflow("shop.charge")


def test_before_the_apps_are_loaded_a_default_name_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apps, "apps_ready", False)
    registry.register_action(entry())

    with pytest.raises(UnknownDefinition, match="before Django's apps are loaded"):
        registry.action_name("examples.shop.somewhere", "charge")

    monkeypatch.setattr(apps, "apps_ready", True)
    assert registry.action("shop.charge").name == "shop.charge"


def test_a_clash_of_default_names_shows_when_the_apps_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apps, "apps_ready", False)
    registry.register_action(entry())
    registry.register_action(entry(module="examples.shop.elsewhere"))
    monkeypatch.setattr(apps, "apps_ready", True)

    with pytest.raises(DuplicateName, match=r"'shop\.charge'"):
        registry.actions()


def test_an_isolated_registry_forgets_what_was_added() -> None:
    registry.register_action(entry(name="shop.before"))
    with registry.isolated():
        registry.register_action(entry("inside", name="shop.inside"))
        assert registry.action("shop.before").name == "shop.before"

    with pytest.raises(UnknownDefinition):
        registry.action("shop.inside")


def test_isolated_registries_nest() -> None:
    with registry.isolated():
        registry.register_action(entry("outer", name="shop.outer"))
        with registry.isolated():
            registry.register_action(entry("inner", name="shop.inner"))
            assert registry.action("shop.outer").name == "shop.outer"

        assert registry.action("shop.outer").name == "shop.outer"
        with pytest.raises(UnknownDefinition):
            registry.action("shop.inner")


def test_another_thread_sees_what_an_isolated_registry_holds() -> None:
    with registry.isolated(), ThreadPoolExecutor(1) as pool:
        registry.register_action(entry("inside", name="shop.inside"))

        found = pool.submit(registry.action, "shop.inside").result()

    assert found.name == "shop.inside"


def test_isolated_registries_that_overlap_leave_nothing_behind() -> None:
    first, second = registry.isolated(), registry.isolated()
    first.__enter__()
    registry.register_action(entry("first", name="shop.first"))
    second.__enter__()
    registry.register_action(entry("second", name="shop.second"))

    first.__exit__(None, None, None)

    assert registry.action("shop.second").name == "shop.second"
    second.__exit__(None, None, None)
    for gone in ("shop.first", "shop.second"):
        with pytest.raises(UnknownDefinition):
            registry.action(gone)


def test_a_class_that_a_function_defines_twice_is_one_workflow() -> None:
    def define() -> type[Workflow]:
        class Greeting(Workflow):
            def handle(self) -> None: ...

        return Greeting

    define()
    again = define()

    name = registry.workflow_name(again.__module__, again.__qualname__)
    assert registry.workflow(name).cls is again


def test_everything_is_listed_by_name() -> None:
    with registry.isolated():
        before = set(registry.actions())
        registry.register_action(entry("b", name="z.b", aliases=("a.b",)))
        registry.register_action(entry("a", name="z.a"))

        added = [each.name for each in registry.actions() if each not in before]
    assert added == ["z.a", "z.b"]


def test_ready_finds_the_definitions_of_installed_apps() -> None:
    registry.ready()

    assert registry.workflow("shop.checkout").cls.__name__ == "Checkout"
    assert registry.action("shop.charge_card").is_async is False


def test_decorated_functions_and_classes_register_themselves() -> None:
    @action(name="shop.ping")
    def ping() -> int:
        return 1

    class Ping(Workflow):
        class Meta:
            name = "shop.pinging"

        def handle(self) -> int:
            return self.action(ping).run()

    assert registry.action("shop.ping").function is ping.function
    assert registry.workflow("shop.pinging").cls is Ping

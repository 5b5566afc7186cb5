"""A second start under an instance id that is taken."""

from __future__ import annotations

from typing import Any

import pytest

from saga_flow import Duplicate, DuplicateInstance, RunNotFound, Workflow, flows
from saga_flow.exceptions import InvalidName, WrongArguments
from saga_flow.models import FlowCommand, FlowRun
from saga_flow.testing import drain

pytestmark = pytest.mark.django_db


def _order(name: str = "acceptance.order") -> type[Workflow]:
    wanted = name

    class Order(Workflow):
        class Meta:
            name = wanted

        def handle(self, cents: int) -> int:
            return cents

    return Order


def _commands() -> list[tuple[str, str]]:
    rows = FlowCommand.objects.order_by("created_at", "pk")
    return list(rows.values_list("status", "outcome"))


@pytest.mark.covers("D-START-1", "D-START-3")
def test_a_duplicate_is_rejected_by_default_and_its_command_row_stays() -> None:
    one = _order().using(instance_id="one")
    one.start(5)

    with pytest.raises(DuplicateInstance):
        one.start(5)

    assert FlowRun.objects.count() == 1
    assert sorted(_commands()) == [
        ("accepted", "started_new"),
        ("rejected", "rejected_duplicate"),
    ]


@pytest.mark.covers("D-START-2")
def test_an_attempt_answers_the_rejection_with_its_reason() -> None:
    one = _order().using(instance_id="one")
    first = one.start(5)

    answer = one.attempt_start(5)

    assert not answer.accepted
    assert answer.outcome == "rejected_duplicate"
    assert answer.rejection_reason
    assert answer.run_id == first.run_id


@pytest.mark.covers("D-START-4")
def test_the_open_run_is_returned_and_the_accepted_command_says_so() -> None:
    one = _order().using(instance_id="one", on_duplicate=Duplicate.RETURN_EXISTING)
    first = one.start(5)

    again = one.start(5)

    assert again.run_id == first.run_id
    said = FlowCommand.objects.get(outcome="returned_existing_active")
    assert (said.status, said.run_id) == ("accepted", first.run_id)


@pytest.mark.covers("D-START-5")
def test_a_closed_run_is_not_returned() -> None:
    one = _order().using(instance_id="one", on_duplicate=Duplicate.RETURN_EXISTING)
    one.start(5)
    drain()

    with pytest.raises(DuplicateInstance):
        one.start(5)


@pytest.mark.covers("D-START-6")
@pytest.mark.parametrize("bad", ["", "x" * 192, "a b", "a/b", "ä"])
def test_an_ill_formed_instance_id_is_refused_and_makes_no_row(bad: str) -> None:
    with pytest.raises(InvalidName):
        _order().using(instance_id=bad).start(5)

    assert not FlowRun.objects.exists()


@pytest.mark.covers("D-START-6")
def test_a_missing_argument_is_refused_and_makes_no_row() -> None:
    order: Any = _order()

    with pytest.raises(WrongArguments, match="cents"):
        order.using(instance_id="one").start()

    assert not FlowRun.objects.exists()


@pytest.mark.covers("D-START-8")
def test_an_id_is_kept_and_another_workflow_under_it_is_refused() -> None:
    handle = _order().using(instance_id="one").start(5)
    other = _order("acceptance.other")

    assert handle.instance_id == "one"
    with pytest.raises(DuplicateInstance):
        other.using(instance_id="one").start(5)
    assert flows.load("one").workflow == "acceptance.order"


@pytest.mark.covers("D-HANDLE-3")
def test_loading_under_another_tenant_finds_nothing() -> None:
    handle = _order().using(instance_id="one", tenant="acme").start(5)

    assert flows.load("one", tenant="acme").run_id == handle.run_id
    for other in ("", "initech"):
        with pytest.raises(RunNotFound):
            flows.load("one", tenant=other)

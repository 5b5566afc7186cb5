"""What the start of a reservation keeps, and what it says anew."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission

from saga_flow import Workflow, flows
from saga_flow.models import FlowRun

pytestmark = pytest.mark.django_db(transaction=True)


class Held(Workflow):
    class Meta:
        name = "reservations.held"

    def handle(self) -> None:
        self.signal("go").wait()


def test_a_start_says_its_labels_over_those_of_its_reservation() -> None:
    Held.using(instance_id="r-1", tags={"team": "a", "kept": "yes"}).reserve()

    Held.using(
        instance_id="r-1",
        tags={"team": "b"},
        memo={"note": "late"},
        business_key="orders.order:7",
    ).start()

    handle = flows.load("r-1")
    assert {tag.key: tag.value for tag in handle.tags()} == {"team": "b", "kept": "yes"}
    run = FlowRun.objects.get()
    assert (run.memo, run.business_key) == ('{"note":"late"}', "orders.order:7")
    assert run.status == "pending"


def test_a_second_interrupt_finds_the_first_one_stored() -> None:
    handle = Held.using(instance_id="r-2").start()

    handle.interrupt()
    handle.interrupt()

    assert [each.outcome for each in handle.commands()][-2:] == ["interrupted"] * 2


@pytest.mark.parametrize("capability", ["view", "signal", "cancel", "compensate"])
def test_each_capability_is_a_permission(capability: str) -> None:
    assert Permission.objects.filter(
        content_type__app_label="saga_flow", codename=f"{capability}_run"
    ).exists()

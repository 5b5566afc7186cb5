"""Values on their way through the rows and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group

from saga_flow import Workflow, action
from saga_flow.models import ActionRun
from saga_flow.testing import drain, run_workflow, send_signal

PLAIN: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "numbers": [0, -1, 2**63, 1.5, 0.1],
    "texts": ["", "é", "\N{SAUROPOD}", 'quote " and \\'],
    "nested": {"list": [[1, [2, [3]]], {"deep": {"er": []}}], "empty": {}},
}


@dataclass(frozen=True)
class Parcel:
    """Something with typed parts."""

    id: UUID
    weight: Decimal
    sent: datetime
    due: date
    lead: timedelta
    labels: tuple[str, ...]


PARCEL = Parcel(
    id=UUID("01980000-0000-7000-8000-000000000001"),
    weight=Decimal("1.50"),
    sent=datetime(2030, 1, 1, 12, tzinfo=UTC),
    due=date(2030, 1, 5),
    lead=timedelta(days=4, seconds=1),
    labels=("fragile", "up"),
)


@pytest.mark.covers("M-SER-1")
@pytest.mark.django_db
def test_plain_values_come_back_equal_in_every_pass() -> None:
    got: list[Any] = []
    seen: list[Any] = []

    @action(name="acceptance.echo")
    def echo(value: Any, *, name: Any) -> Any:
        got.append((value, name))
        return {"value": value, "name": name}

    class Echoing(Workflow):
        class Meta:
            name = "acceptance.echoing"

        def handle(self, value: Any) -> Any:
            seen.append((value, self.action(echo, value, name=value).run()))
            return self.signal("more").wait()

    handle = send_signal(run_workflow(Echoing, PLAIN), "more", PLAIN)

    assert got == [(PLAIN, PLAIN)]
    assert seen == [(PLAIN, {"value": PLAIN, "name": PLAIN})] * 2
    assert handle.output() == PLAIN


@pytest.mark.covers("M-SER-1")
@pytest.mark.django_db
def test_typed_values_come_back_by_their_annotations_in_every_pass() -> None:
    seen: list[Any] = []

    @action(name="acceptance.weigh")
    def weigh(parcel: Parcel) -> Parcel:
        seen.append(parcel)
        return parcel

    class Weighing(Workflow):
        class Meta:
            name = "acceptance.weighing"

        def handle(self, parcel: Parcel) -> Parcel:
            seen.append(parcel)
            seen.append(self.action(weigh, parcel).run())
            return self.signal("again", Parcel).wait()

    handle = send_signal(run_workflow(Weighing, PARCEL), "again", PARCEL)

    # handle, body, result; then handle and the recorded result of the second pass
    assert seen == [PARCEL] * 5
    assert handle.output() == PARCEL


@pytest.mark.covers("M-SER-2")
@pytest.mark.django_db
def test_a_model_instance_is_stored_as_a_reference_and_loaded_again() -> None:
    seen: list[str] = []

    @action(name="acceptance.admit")
    def admit(group: Group) -> str:
        seen.append(group.name)
        return group.name

    class Admitting(Workflow):
        class Meta:
            name = "acceptance.admitting"

        def handle(self, key: int) -> str:
            # only the key goes into the step, so no query is made by handle()
            group = Group(pk=key, name="as it was in handle()")
            group._state.adding, group._state.db = False, "default"
            return self.action(admit, group).run()

    group = Group.objects.create(name="staff")
    handle = Admitting.start(group.pk)
    Group.objects.update(name="renamed")
    drain()

    assert seen == ["renamed"]
    assert handle.refresh().output() == "renamed"
    stored = ActionRun.objects.get().arguments
    assert "as it was" not in stored
    assert f'"pk":{group.pk}' in stored


@pytest.mark.django_db
def test_a_deleted_instance_fails_its_step_and_never_turns_into_none() -> None:
    seen: list[Group | None] = []

    @action(name="acceptance.expel")
    def expel(group: Group | None) -> None:
        seen.append(group)

    class Expelling(Workflow):
        class Meta:
            name = "acceptance.expelling"

        def handle(self, key: int) -> None:
            group = Group(pk=key)
            group._state.adding, group._state.db = False, "default"
            self.action(expel, group).run()

    group = Group.objects.create(name="staff")
    handle = Expelling.start(group.pk)
    group.delete()
    drain()

    assert seen == []
    [step] = handle.refresh().actions()
    assert (handle.status, step.status) == ("failed", "failed")
    assert step.error is not None
    assert step.error["type"] == "PayloadNotDecodable"
    assert "no longer in database" in step.error["message"]

"""The database itself refuses a status that is no status, on every table."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.apps import apps
from django.db import IntegrityError, OperationalError, connection, models, transaction
from django.db.models import CheckConstraint

from saga_flow.models import FlowRun
from saga_flow.states import TERMINAL, FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db

MODELS: Final = {
    model.__name__: model
    for model in apps.get_app_config("saga_flow").get_models()
    if any(field.name == "status" for field in model._meta.fields)
}
# MariaDB reports a failed check as an operational error
REFUSALS: Final = (IntegrityError, OperationalError)


def refuses(model: type[models.Model], assignments: str, *values: str) -> None:
    """The database refuses *assignments* on the only row of *model*."""
    table = model._meta.db_table
    with (
        pytest.raises(REFUSALS),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE {table} SET {assignments}", values)  # noqa: S608


def statuses_of(model: type[models.Model]) -> list[str]:
    """The choices of the status column, which there must be."""
    field = model._meta.get_field("status")
    assert isinstance(field, models.CharField)
    found = sorted(str(value) for value, _ in field.choices or ())
    assert found
    return found


def a_row(model: type[models.Model]) -> None:
    """One row of *model*, made by its defaults and what has none."""
    run = seeding.run("p1", status=FlowStatus.WAITING)
    if model is FlowRun:
        return
    needed = [
        field
        for field in model._meta.concrete_fields
        if not (field.has_default() or field.null or field.primary_key)
    ]
    given = {field.name: _value(field, run) for field in needed}
    given["status"] = statuses_of(model)[0]
    model._default_manager.create(**given)


def _value(field: models.Field[Any, Any], run: FlowRun) -> object:
    if field.name == "run":
        return run
    if isinstance(field, models.DateTimeField):
        return run.created_at
    if isinstance(field, models.UUIDField):
        return run.pk
    return 0 if isinstance(field, models.IntegerField) else ""


def test_the_tables_with_a_status_are_known() -> None:
    assert set(MODELS) == {
        "ActionRun",
        "CompensationRun",
        "FlowChild",
        "FlowCommand",
        "FlowRun",
        "FlowSignal",
        "FlowTimer",
        "Worker",
    }


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_status_column_takes_its_statuses_only(name: str) -> None:
    model = MODELS[name]
    a_row(model)
    refuses(model, "status = %s", "undecided")
    refuses(model, "status = %s", "")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_status_column_has_a_check_with_every_status(name: str) -> None:
    model = MODELS[name]
    wanted = ("status__in", statuses_of(model))
    checks = [
        check.condition.children
        for check in model._meta.constraints
        if isinstance(check, CheckConstraint) and isinstance(check.condition, models.Q)
    ]
    assert [wanted] in checks


@pytest.mark.parametrize("status", sorted(FlowStatus))
def test_a_run_is_closed_exactly_where_it_is_terminal(status: FlowStatus) -> None:
    seeding.run("p1", status=status)
    if status in TERMINAL:
        refuses(FlowRun, "closed_at = NULL")
    else:
        refuses(FlowRun, "closed_at = created_at")


def test_a_rollback_knows_where_it_will_land() -> None:
    seeding.run("p1", status=FlowStatus.CANCELLING)
    refuses(FlowRun, "closing_as = NULL")


def test_an_instance_has_one_current_run() -> None:
    seeding.run("p1", status=FlowStatus.COMPLETED)
    with pytest.raises(IntegrityError), transaction.atomic():
        seeding.run("p1", status=FlowStatus.PENDING, run_number=2)
    FlowRun.objects.update(is_current=None)
    seeding.run("p1", status=FlowStatus.PENDING, run_number=2)


def test_compensation_state_takes_its_states_only() -> None:
    seeding.run("p1", status=FlowStatus.WAITING)
    refuses(FlowRun, "compensation_state = %s", "half")

"""The sweeps in django-q2's own schedule."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler
from django_q.signing import SignedPackage

from saga_flow import sweeps
from saga_flow.sweeps import schedule

pytestmark = pytest.mark.django_db


def ours() -> list[Schedule]:
    return list(Schedule.objects.filter(func=schedule.FUNCTION).order_by("pk"))


def test_migrating_schedules_each_sweep_once_a_minute() -> None:
    Schedule.objects.all().delete()
    call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)

    assert [row.args for row in ours()] == [repr(name) for name in sweeps.REGISTERED]
    assert {(row.schedule_type, row.minutes) for row in ours()} == {
        (Schedule.MINUTES, 1)
    }


def test_what_an_operator_has_set_stays() -> None:
    schedule.install(using="default")
    row = ours()[0]
    row.minutes = 5
    row.save()
    schedule.install(using="default")

    assert ours()[0].minutes == 5


@pytest.mark.django_db(transaction=True)
def test_django_q2_makes_jobs_of_them_that_leave_nothing_behind() -> None:
    schedule.install(using="default")
    Schedule.objects.update(next_run=timezone.now() - timedelta(minutes=1))
    OrmQ.objects.all().delete()

    scheduler(broker=get_broker())

    made = [SignedPackage.loads(row.payload) for row in OrmQ.objects.order_by("pk")]
    assert {job["func"] for job in made} == {"saga_flow.jobs.sweep"}
    assert {job["args"] for job in made} == {(name,) for name in sweeps.REGISTERED}
    assert {(job["save"], job["ack_failure"]) for job in made} == {(False, True)}


@pytest.mark.parametrize("executor", ["inline", "none"])
def test_another_executor_needs_none(executor: str) -> None:
    Schedule.objects.all().delete()
    with override_settings(SAGA_FLOW={"EXECUTOR": executor}):
        schedule.install(using="default")

    assert ours() == []

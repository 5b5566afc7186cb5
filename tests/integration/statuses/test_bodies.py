"""What a body does to its connection stays its own affair."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from saga_flow import Workflow, action
from saga_flow.models import ActionRun

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="bodies.forgets")
def forgets() -> None:
    transaction.set_autocommit(False)
    Group.objects.create(name="never committed")


@action(name="bodies.hangs_up")
def hangs_up() -> str:
    connection.close()
    return "gone"


@action(name="bodies.after")
def after() -> str:
    return "after"


class Bodies(Workflow):
    class Meta:
        name = "bodies.flow"

    def handle(self) -> str:
        self.action(hangs_up).run()
        self.action(forgets).optional().run()
        return self.action(after).run()


def test_a_transaction_left_open_fails_its_step_and_no_commit_is_lost() -> None:
    """Without the check every later commit of the pass would wait in it, and vanish."""
    handle = Bodies.using(instance_id="b-1").run_sync()

    assert handle.output() == "after"
    assert connection.get_autocommit()
    assert not Group.objects.filter(name="never committed").exists()
    statuses = list(ActionRun.objects.order_by("sequence").values_list("status"))
    assert statuses == [("completed",), ("optional_failed",), ("completed",)]

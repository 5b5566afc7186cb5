"""An attempt that somebody else settled while its body ran."""

from __future__ import annotations

import pytest

from saga_flow import Workflow, action, client, flows
from saga_flow.current import current_step
from saga_flow.models import ActionRun, FlowRun

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="outside.settled")
def settled_meanwhile() -> str:
    if current_step().attempt == 1:
        ActionRun.objects.update(token=-7)
    return "done"


class Settled(Workflow):
    class Meta:
        name = "outside.flow"

    def handle(self) -> str:
        return self.action(settled_meanwhile).run()


def test_a_run_whose_claim_was_taken_under_its_lease_is_given_back() -> None:
    """
    Without that it would stay running under a live worker until the janitor came.
    """
    handle = Settled.using(instance_id="s-1").run_sync()

    run = FlowRun.objects.get()
    assert (run.status, run.lease_owner) != ("running", None)
    assert run.lease_owner is None
    refused = [line for line in handle.history() if "rejected" in line.type]
    assert len(refused) == 1

    client.drive(run.pk)
    assert flows.load("s-1").status == "completed"
    assert ActionRun.objects.get().attempt == 2

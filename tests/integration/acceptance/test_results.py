"""A result is decoded the same way on the first pass as on every replay."""

from __future__ import annotations

from typing import Any, cast

import pytest

from saga_flow import FlowStatus, Workflow, action, client
from saga_flow.authoring import members
from saga_flow.models import ActionRun
from saga_flow.states import ActionStatus

pytestmark = pytest.mark.django_db(transaction=True)


@action(name="results.weigh")
def weigh() -> int:
    """Say something else than the annotation promises."""
    return cast("int", "heavy")


class Weighing(Workflow):
    """One step whose result does not fit."""

    class Meta:
        """Its name."""

        name = "results.weighing"

    def handle(self) -> Any:
        """Weigh, and believe that nothing can go wrong."""
        try:
            return self.action(weigh).run()
        except Exception as error:  # noqa: BLE001 - what it must not come to
            return repr(error)


def test_a_result_that_does_not_fit_its_annotation_waits_for_a_deploy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handle = Weighing.using(instance_id="w1").run_sync()

    assert handle.status is FlowStatus.INTERRUPTED
    step = ActionRun.objects.get(run=handle.run_id)
    assert step.status == ActionStatus.COMPLETED

    # the deploy
    monkeypatch.setattr(members, "result_of", lambda *_: str)
    handle.resume()
    client.drive(handle.run_id)

    assert handle.refresh().output() == "heavy"
    assert ActionRun.objects.get(run=handle.run_id).attempt == 1

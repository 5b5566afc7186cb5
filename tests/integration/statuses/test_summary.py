"""What a run says of itself, and the words that people give, are bounded."""

from __future__ import annotations

import pytest

from saga_flow import Workflow, client
from saga_flow.models import FlowCommand, FlowRun
from saga_flow.records import Request, Target
from saga_flow.states import FlowStatus
from tests.support.standings import run_in

pytestmark = pytest.mark.django_db

TEXTS = ["plain " * 400, "größer ✓ " * 200, "🚚" * 600, "x" + "🚚" * 600]


class Talkative(Workflow):
    """Says what it is given."""

    class Meta:
        name = "statuses.talkative"

    def handle(self, text: str) -> None:
        self.summary(text)


@pytest.mark.covers("LR-12")
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_summary_is_cut_on_a_character_boundary(text: str) -> None:
    """Cut in the middle of a character, it could not be read back at all."""
    run = Talkative.using(instance_id="p1").run_sync(text).run_id
    kept = FlowRun.objects.get(pk=run).status_summary
    size = len(kept.encode())
    assert size <= 1024
    head = kept.rstrip("…")
    assert text.startswith(head)
    # no more was cut off than had to be
    longer = len(text[: len(head) + 1].encode()) + len("…".encode())
    assert longer > 1024


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_reason_is_cut_to_512_bytes(text: str) -> None:
    run = run_in(FlowStatus.WAITING)
    client.cancel(Target(instance_id="p1"), Request(reason=text))
    kept = FlowRun.objects.get(pk=run.pk).reason
    assert 0 < len(kept.encode()) <= 512
    assert text.startswith(kept.rstrip("…"))
    assert FlowCommand.objects.get().reason == kept

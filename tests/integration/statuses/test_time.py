"""Times go forward, whatever the clock of a worker says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from saga_flow import DefinitionError, Workflow, client
from saga_flow.clock import FakeClock, fixed
from saga_flow.models import FlowRun

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Timed(Workflow):
    class Meta:
        name = "time.timed"

    def handle(self) -> None:
        self.signal("go").wait()


@pytest.mark.covers("LR-6")
def test_a_clock_that_was_set_back_does_no_harm() -> None:
    with fixed(FakeClock(NOON)):
        handle = Timed.using(instance_id="t-1").run_sync()
        before = FlowRun.objects.get().updated_at
    with fixed(FakeClock(NOON - timedelta(hours=1))):
        handle.signal("go")
        after = FlowRun.objects.get().updated_at
    with fixed(FakeClock(NOON)):
        client.drive(handle.run_id)

    assert (before, after) == (NOON, NOON)
    assert handle.refresh().completed()


@pytest.mark.covers("LR-6")
@pytest.mark.parametrize("option", ["run_after", "expires_in"])
def test_an_earlier_time_from_a_caller_is_refused(option: str) -> None:
    with pytest.raises(DefinitionError, match=option):
        Timed.using(**{option: timedelta(seconds=-1)}).start()  # type: ignore[arg-type] # one option a case

    assert not FlowRun.objects.exists()

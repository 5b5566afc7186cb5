"""Children that a parent waits for, or does not."""

from __future__ import annotations

from typing import Any

import pytest

from saga_flow import ChildCancelled, ChildFailed, Workflow, flows, jobs
from saga_flow.exceptions import DefinitionError
from saga_flow.models import FlowChild, FlowRun, FlowTag
from saga_flow.states import ChildStatus, FlowStatus
from saga_flow.store import children
from tests.support.engine_tables import check_journal, check_standing

pytestmark = pytest.mark.django_db(transaction=True)


class Kid(Workflow):
    """Counts on; fails below nought, and waits above ten."""

    class Meta:
        """Options of its own."""

        name = "children.kid"
        version = "7"
        tags = {"kind": "kid"}

    def handle(self, number: int) -> int:
        """Count on."""
        if number < 0:
            raise ValueError("below nought")
        if number > 10:
            self.signal("go").wait()
        return number + 1


class Parent(Workflow):
    """Waits for one child, and tells how it ended."""

    class Meta:
        """Its name."""

        name = "children.parent"

    def handle(self, number: int, instance_id: str = "", lenient: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Start it, and look at its end twice: before a wait and after."""
        flow = Kid.using(instance_id=instance_id) if instance_id else Kid.using()
        kid = self.child(flow, number)
        try:
            said: Any = (kid.continue_on_failure() if lenient else kid).run()
        except (ChildFailed, ChildCancelled) as error:
            said = [type(error).__name__, error.status, error.type]
        self.side_effect("seen", lambda: 1)
        return said


class Detaching(Workflow):
    """Starts a child that it does not wait for."""

    class Meta:
        """Its name."""

        name = "children.detaching"

    def handle(self) -> str:
        """Hand on which run that is."""
        return str(self.child(Kid, 1).detach().run_id)


def link() -> FlowChild:
    """The one link that there is."""
    return FlowChild.objects.get()


@pytest.mark.covers("M-CHD-1", "N-4")
def test_a_parent_gets_its_child_s_result_in_its_own_process_and_by_jobs() -> None:
    here = Parent.using(instance_id="here").run_sync(3)
    there = Parent.using(instance_id="there").start(3)
    jobs.drive(str(there.run_id))
    kid = FlowRun.objects.get(parent=there.run_id)
    jobs.drive(str(kid.pk))
    jobs.drive(str(there.run_id))

    assert (here.output(), there.refresh().output()) == (4, 4)
    assert {each.status for each in FlowChild.objects.all()} == {"completed"}
    check_journal(there.run_id)
    check_standing(there.run_id)


@pytest.mark.covers("N-2", "N-5")
def test_a_child_has_options_of_its_own() -> None:
    Parent.using(instance_id="parent", tags={"kind": "parent"}).run_sync(3)

    kid = FlowRun.objects.get(workflow_name="children.kid")
    assert kid.workflow_version == "7"
    assert FlowTag.objects.get(run=kid).value == "kid"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("cancel", ["ChildCancelled", "cancelled", ""]),
        ("terminate", ["ChildCancelled", "terminated", ""]),
    ],
)
@pytest.mark.covers("M-CHD-8", "D-ACT-9")
def test_an_end_from_outside_is_told_apart(end: str, said: list[str]) -> None:
    parent = Parent.using(instance_id="parent").run_sync(30)
    getattr(flows.load_run(link().child), end)()
    jobs.drive(str(parent.run_id))

    assert parent.refresh().output() == said


@pytest.mark.covers("M-CHD-3", "D-ACT-9")
def test_a_failure_reaches_the_parent_unless_it_may_go_on() -> None:
    told = Parent.using(instance_id="told").run_sync(-1)
    spared = Parent.using(instance_id="spared").run_sync(-1, lenient=True)

    assert told.output() == ["ChildFailed", "failed", "ValueError"]
    assert spared.output() is None


def test_a_taken_instance_id_fails_the_child_and_no_more() -> None:
    Kid.using(instance_id="taken").start(3)
    parent = Parent.using(instance_id="parent").run_sync(3, "taken")

    assert parent.output() == ["ChildFailed", "not started", "DuplicateInstance"]
    check_journal(parent.run_id)


@pytest.mark.covers("M-CHD-7")
def test_a_child_goes_on_after_its_parent_and_ends_by_itself() -> None:
    parent = Parent.using(instance_id="parent").run_sync(30)
    parent.cancel()
    kid = flows.load_run(link().child)
    assert kid.status is FlowStatus.WAITING
    kid.signal("go")
    jobs.drive(str(kid.run_id))

    assert kid.refresh().output() == 31
    assert link().status == ChildStatus.COMPLETED
    assert parent.refresh().status is FlowStatus.CANCELLED
    assert FlowRun.objects.get(pk=parent.run_id).wake_at is None


def test_a_child_whose_parent_or_link_is_gone_still_ends() -> None:
    parent = Parent.using(instance_id="parent").run_sync(30)
    kid = flows.load_run(link().child)
    FlowChild.objects.all().delete()
    kid.cancel()
    assert kid.refresh().status is FlowStatus.CANCELLED

    FlowRun.objects.filter(pk=parent.run_id)._raw_delete("default")
    children.ended(kid.run_id, parent.run_id)


def test_a_settled_link_stays_as_it_is() -> None:
    parent = Parent.using(instance_id="parent").run_sync(3)
    before = FlowRun.objects.get(pk=parent.run_id).history_seq
    FlowRun.objects.filter(pk=link().child).update(result="99")
    children.ended(link().child, parent.run_id)

    assert link().result == "4"
    assert FlowRun.objects.get(pk=parent.run_id).history_seq == before


def test_a_detached_child_is_left_to_its_own_job() -> None:
    parent = Detaching.using(instance_id="parent").run_sync()

    assert parent.output() == str(link().child)
    assert FlowRun.objects.get(pk=link().child).status == FlowStatus.PENDING


class Picky(Workflow):
    """Asks for what a child can't have."""

    class Meta:
        """Its name."""

        name = "children.picky"

    def handle(self) -> None:
        """Ask for a tenant."""
        with pytest.raises(DefinitionError, match="a child takes no tenant"):
            self.child(Kid.using(tenant="other"), 1)


def test_options_of_a_client_s_start_are_refused() -> None:
    assert Picky.using(instance_id="picky").run_sync().status is FlowStatus.COMPLETED

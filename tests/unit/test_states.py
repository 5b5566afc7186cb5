"""Every cell of every status table, written out here a second time on purpose."""

from __future__ import annotations

from typing import Final

import pytest
from django.db.models import TextChoices

from saga_flow import states
from saga_flow.states import (
    ActionStatus,
    ChildStatus,
    ClosedReason,
    CommandStatus,
    CompensationState,
    CompensationStatus,
    FlowStatus,
    SignalStatus,
    TimerStatus,
    WorkerStatus,
)

MATRIX: Final = """
from \\ to     RES PEN RUN WAI INT CLG COM FAI CAN TER EXP
reserved       =   Y   .   .   .   .   .   .   .   .   .
pending        .   =   Y   .   .   Y   .   Y   Y   Y   Y
running        .   .   =   Y   Y   Y   Y   Y   Y   Y   Y
waiting        .   .   Y   =   Y   Y   Y   Y   Y   Y   Y
interrupted    .   .   Y   Y   =   Y   .   Y   Y   Y   Y
cancelling     .   .   .   .   .   =   .   Y   Y   Y   Y
completed      .   .   .   .   .   .   =   .   .   .   .
failed         .   .   .   .   .   .   .   =   .   .   .
cancelled      .   .   .   .   .   .   .   .   =   .   .
terminated     .   .   .   .   .   .   .   .   .   =   .
expired        .   .   .   .   .   .   .   .   .   .   =
"""
COLUMNS: Final = [line.split()[0] for line in MATRIX.strip().splitlines()[1:]]

SIX: Final = """
pending      running cancelled failed
running      interrupted completed cancelled failed
interrupted  running cancelled failed
completed    completed
cancelled    cancelled
failed       failed
"""
"""Six statuses and what may follow each, the terminal ones only themselves."""

EIGHT: Final = """
pending      running cancelling cancelled expired failed
running      waiting completed failed cancelling cancelled expired
waiting      running completed failed cancelling cancelled expired
cancelling   failed cancelled expired
completed
failed
cancelled
expired
"""
"""Eight statuses and what may follow each, pending → failed included."""

MAPPINGS: Final = """
reserved     -          false  -           reserved    -
pending      running    false  pending     pending     pending
running      running    false  running     running     running
waiting      running    false  waiting     waiting     running
interrupted  running    false  waiting     waiting     interrupted
cancelling   running    false  cancelling  running     running
completed    completed  true   completed   completed   completed
failed       failed     true   failed      failed      failed
cancelled    failed     true   cancelled   cancelled   cancelled
terminated   failed     true   cancelled   terminated  cancelled
expired      failed     true   expired     failed      failed
"""

MOVES: Final[dict[str, tuple[type[TextChoices], str]]] = {
    "ACTION": (
        ActionStatus,
        """
        pending          running expired cancelled
        running          completed failed pending running expired cancelled
        failed           awaiting_retry optional_failed
        awaiting_retry   pending failed optional_failed cancelled
        completed
        optional_failed
        expired
        cancelled
        """,
    ),
    "SIGNAL": (
        SignalStatus,
        """
        waiting    consumed timed_out cancelled
        received   consumed
        consumed
        timed_out
        cancelled
        """,
    ),
    "TIMER": (
        TimerStatus,
        """
        pending    fired cancelled
        fired
        cancelled
        """,
    ),
    "CHILD": (
        ChildStatus,
        """
        pending    running failed cancelled
        running    completed failed cancelled
        failed     running
        completed
        cancelled
        """,
    ),
    "COMPENSATION": (
        CompensationStatus,
        """
        pending    running
        running    completed failed pending running
        failed     pending
        completed
        """,
    ),
    "WORKER": (
        WorkerStatus,
        """
        alive      draining lost gone
        draining   lost gone
        lost
        gone
        """,
    ),
}


def cells(text: str) -> dict[tuple[str, str], str]:
    """The cells of a matrix in text form, by from and to."""
    _, *rows = text.strip().splitlines()
    found = {}
    for row in rows:
        source, *marks = row.split()
        found.update({(source, COLUMNS[n]): mark for n, mark in enumerate(marks)})
    return found


def moves(text: str) -> dict[str, set[str]]:
    """Lines of a status and what may follow it."""
    rows = (line.split() for line in text.strip().splitlines())
    return {source: set(targets) for source, *targets in rows}


CELLS: Final = sorted(cells(MATRIX).items())


def test_the_matrix_written_here_is_whole() -> None:
    assert len(CELLS) == len(FlowStatus) ** 2
    assert sorted(COLUMNS) == sorted(FlowStatus.values)


@pytest.mark.covers("M-RUN-12", "LR-1")
@pytest.mark.parametrize(("cell", "mark"), CELLS)
def test_a_cell_of_the_runs_table(cell: tuple[str, str], mark: str) -> None:
    source, target = (FlowStatus(value) for value in cell)
    is_an_edge = target in states.FLOW_TRANSITIONS[source]
    assert is_an_edge is (mark == "Y")
    assert (source is target) is (mark == "=")
    assert (source in states.flow_sources(target)) is (mark == "Y")


def test_restricted_to_six_statuses_the_edges_are_the_six_statuses_own() -> None:
    six = moves(SIX)
    for source, targets in six.items():
        found = states.FLOW_TRANSITIONS[FlowStatus(source)] & set(six)
        assert found == targets - {source}, source
    diagonal = {source for source, targets in six.items() if source in targets}
    assert diagonal == {str(s) for s in states.TERMINAL} & set(six)


def test_restricted_to_eight_statuses_the_edges_are_the_eight_statuses_own() -> None:
    eight = moves(EIGHT)
    for source, targets in eight.items():
        found = states.FLOW_TRANSITIONS[FlowStatus(source)] & set(eight)
        assert found == targets, source


@pytest.mark.covers("M-RUN-13")
def test_terminal_is_the_five_statuses_that_nothing_leaves() -> None:
    five = {"completed", "failed", "cancelled", "terminated", "expired"}
    assert FlowStatus.terminal() == states.TERMINAL == five
    assert five == {s for s in FlowStatus if not states.FLOW_TRANSITIONS[s]}


def test_the_derived_sets() -> None:
    three = {"pending", "running", "waiting"}
    assert FlowStatus.may_start_work() == states.MAY_START_WORK == three
    assert FlowStatus.signalable() == states.SIGNALABLE == three
    assert three | {"interrupted"} == states.TAKES_SIGNAL
    assert three | {"interrupted", "cancelling"} == states.OPEN
    assert three | {"interrupted"} == states.ENDS_NOW


def test_every_status_is_open_terminal_or_reserved() -> None:
    parts = (states.OPEN, states.TERMINAL, {FlowStatus.RESERVED})
    assert sum(map(len, parts)) == len(FlowStatus)
    assert set().union(*parts) == set(FlowStatus)


def test_from_each_open_status_a_run_can_be_cancelled_or_is_on_its_way() -> None:
    """So that nothing is stuck: every open status reaches a terminal one."""
    for status in states.OPEN:
        assert states.FLOW_TRANSITIONS[status] & states.TERMINAL, status


@pytest.mark.parametrize("line", MAPPINGS.strip().splitlines())
def test_a_row_of_the_mappings(line: str) -> None:
    first, *words = line.split()
    names = [first, *(None if word == "-" else word for word in words)]
    status = FlowStatus(first)
    assert states.status_bucket(status) == names[1]
    assert (status in states.TERMINAL) is (names[2] == "true")
    assert states.STATUS_SAGA_FLOW[status] == names[3]
    assert states.STATUS_DURABLE_WORKFLOW[status] == names[4]
    assert states.STATUS_LOOPRIG[status] == names[5]


def test_the_mappings_are_whole() -> None:
    written = [line.split()[0] for line in MAPPINGS.strip().splitlines()]
    assert sorted(written) == sorted(FlowStatus.values)
    for mapping in (
        states.STATUS_SAGA_FLOW,
        states.STATUS_DURABLE_WORKFLOW,
        states.STATUS_LOOPRIG,
    ):
        assert set(mapping) == set(FlowStatus)


@pytest.mark.parametrize("status", FlowStatus)
def test_running_means_pending_running_or_waiting_to_others(status: FlowStatus) -> None:
    told = states.STATUS_DURABLE_WORKFLOW[status]
    assert states.is_running(status) is (told in {"pending", "running", "waiting"})
    assert states.is_running(status) is (status in states.OPEN)


def test_closed_reason_of_each_terminal_status() -> None:
    assert dict(states.CLOSED_REASON_OF) == {
        "completed": "completed",
        "failed": "failed",
        "cancelled": "cancelled",
        "terminated": "terminated",
        "expired": "timed_out",
    }
    told = {"completed", "continued", "failed", "cancelled", "terminated", "timed_out"}
    assert set(ClosedReason.values) == told


@pytest.mark.parametrize("name", sorted(MOVES))
def test_every_cell_of_another_table(name: str) -> None:
    kind, text = MOVES[name]
    table = getattr(states, f"{name}_TRANSITIONS")
    wanted = moves(text)
    assert set(wanted) == set(kind.values)
    assert {str(source): set(targets) for source, targets in table.items()} == wanted


def test_how_new_rows_begin() -> None:
    assert {"pending", "running"} == states.ACTION_INITIAL
    assert {"waiting", "received"} == states.SIGNAL_INITIAL


def test_the_end_of_a_run_cancels_steps_that_no_outcome_has_settled() -> None:
    assert {"pending", "running", "awaiting_retry"} == states.UNSETTLED_STEP
    assert {"pending", "running"} == states.UNFINISHED_UNDO


def test_enums_without_a_table() -> None:
    assert set(CommandStatus.values) == {"accepted", "rejected"}
    told = {"none", "pending", "running", "completed", "failed"}
    assert set(CompensationState.values) == told
    assert {"alive", "draining"} == states.LIVE_WORKER


ENUMS: Final = {
    value.__name__: value
    for value in vars(states).values()
    if isinstance(value, type)
    and issubclass(value, TextChoices)
    and value is not TextChoices
}


@pytest.mark.parametrize("kind", ENUMS.values(), ids=ENUMS)
def test_members_are_upper_case_and_stored_as_the_lower_case_word(
    kind: type[TextChoices],
) -> None:
    for member in kind:
        assert member.name.isupper()
        assert member.value == member.name.lower()
        assert str(member.label)


@pytest.mark.parametrize(
    "table", [name for name in vars(states) if name.endswith("_TRANSITIONS")]
)
def test_a_table_can_not_be_changed(table: str) -> None:
    rows = getattr(states, table)
    with pytest.raises(TypeError):
        rows[next(iter(rows))] = frozenset()
    assert all(isinstance(targets, frozenset) for targets in rows.values())

"""docs/statuses.md says what saga_flow/states.py does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from saga_flow import states
from saga_flow.exceptions import ConflictError
from saga_flow.states import ActionStatus, FlowStatus

PAGE: Final = (
    Path(__file__).parents[2].joinpath("docs/statuses.md").read_text(encoding="utf-8")
)
NOTHING: Final = {"–", "-", ""}


def table_under(heading: str) -> list[list[str]]:
    """The first table after *heading*, its cells without marks."""
    after = PAGE.split(f"{heading}\n", 1)[1]
    found = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert found is not None, heading
    rows = found.group().strip().splitlines()[2:]
    return [
        [cell.strip().replace("`", "") for cell in row.strip("|").split("|")]
        for row in rows
    ]


def test_the_fenced_matrix_is_the_transition_table() -> None:
    block = re.search(r"<!-- matrix:flow -->\n```\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    head, *rows = block.group(1).strip().splitlines()
    sources = [row.split()[0] for row in rows]
    assert sorted(sources) == sorted(FlowStatus.values)
    assert head.split()[3:] == [short(source) for source in sources]
    for row in rows:
        source, *marks = row.split()
        for target, mark in zip(sources, marks, strict=True):
            assert mark == expected(FlowStatus(source), FlowStatus(target)), row


def short(status: str) -> str:
    """How a column is headed: three letters, cancelling told from cancelled."""
    return "CLG" if status == "cancelling" else status[:3].upper()


def expected(source: FlowStatus, target: FlowStatus) -> str:
    """The mark that the code gives a cell."""
    if source is target:
        return "="
    return "Y" if target in states.FLOW_TRANSITIONS[source] else "."


def test_the_page_lists_every_status_and_marks_the_terminal_ones() -> None:
    rows = table_under("`FlowStatus`:")
    assert [row[0] for row in rows] == FlowStatus.values
    assert {row[0] for row in rows if row[1] == "yes"} == states.TERMINAL


def test_the_page_names_the_derived_sets() -> None:
    for name, members, _ in table_under("Sets with a name, each defined once:"):
        assert set(members.split(", ")) == getattr(states, name), name


def test_the_page_shows_how_others_see_a_status() -> None:
    rows = table_under("### How other vocabularies see it")
    assert [row[0] for row in rows] == FlowStatus.values
    for row in rows:
        status = FlowStatus(row[0])
        told = [None if cell in NOTHING else cell for cell in row[1:]]
        assert told == [
            states.status_bucket(status),
            str(status in states.TERMINAL).lower(),
            states.STATUS_SAGA_FLOW[status],
            states.STATUS_DURABLE_WORKFLOW[status],
            states.STATUS_LOOPRIG[status],
        ]


def test_the_page_shows_the_moves_of_a_step() -> None:
    after = PAGE.split("## One step", 1)[1]
    rows = re.findall(
        r"^\| (\(?\w+\)?) \| (.*) \|$", after.split("## ")[0], re.MULTILINE
    )
    told = {
        source: set(re.sub(r"\(.*?\)", "", targets).replace(" ", "").split(","))
        for source, targets in rows
        if source in {"(new)", *ActionStatus.values}
        and "," in targets
        and not targets[0].isupper()
    }
    assert told.pop("(new)") == states.ACTION_INITIAL
    assert told == {
        source: targets
        for source, targets in states.ACTION_TRANSITIONS.items()
        if targets
    }


def test_the_page_names_the_reasons_of_a_conflict() -> None:
    rows = table_under("and `ConflictError.reason` says which:")
    reasons = {reason for row in rows for reason in row[0].split(", ")}
    assert reasons == ConflictError.REASONS

"""What the pages list is what the code has: nothing missing, nothing invented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from datetime import timedelta
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path
from typing import Final

import pytest
from django.core.management import load_command_class

import saga_flow
from saga_flow import events, exceptions, pytest_plugin, testing
from saga_flow.authoring import action, meta
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.requests import CommandOptions
from saga_flow.authoring.retry import Retry
from saga_flow.authoring.start import StartOptions
from saga_flow.client.answers import REASON_OF
from saga_flow.conf import Settings
from saga_flow.management.commands.saga_list import SEVERAL
from saga_flow.pulse import heart
from saga_flow.pulse.leader import EVERY, RENEW
from saga_flow.queries import filters
from saga_flow.store import leases, workers
from saga_flow.sweeps import REGISTERED, liveness
from tests.integration.docs.pages import (
    DOCS,
    PAGES,
    ROOT,
    anchors,
    links,
    name_of,
    section,
    table,
)

AUTHORING: Final = DOCS / "authoring.md"
OPERATIONS: Final = DOCS / "operations.md"
TESTING: Final = DOCS / "testing.md"
WRITES: Final = DOCS / "writes.md"
ARCHITECTURE: Final = DOCS / "architecture.md"
COMMANDS: Final = frozenset(
    path.stem for path in (ROOT / "saga_flow/management/commands").glob("saga_*.py")
)
OF_DJANGO: Final = frozenset(
    {
        "--force-color",
        "--help",
        "--no-color",
        "--pythonpath",
        "--settings",
        "--skip-checks",
        "--traceback",
        "--verbosity",
        "--version",
    }
)


def words(cell: str) -> set[str]:
    """The names in a cell that stand in code style, without arguments."""
    marked = (re.sub(r"\(.*\)", "", text) for text in re.findall(r"`([^`]+)`", cell))
    found = (re.match(r"\.?(\w+)", each) for text in marked for each in text.split())
    return {each.group(1) for each in found if each}


def first_column(rows: Iterable[list[str]]) -> set[str]:
    return {word for row in rows for word in words(row[0])}


# ------------------------------------------------------------------ links and names


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(to), f"{name_of(page)} links to {target}"


def test_every_page_can_be_found_from_the_first_one() -> None:
    index = {(DOCS / link).resolve() for link in links(DOCS / "README.md")}

    assert {page for page in DOCS.glob("*.md") if page.name != "README.md"} <= index


def test_what_the_code_refers_to_is_there() -> None:
    for path in [*ROOT.glob("saga_flow/**/*.py"), *ROOT.glob("dashboard/**/*.py")]:
        told = path.read_text(encoding="utf-8")
        for page, part in re.findall(r'(docs/[\w/-]+\.md)(?:,\s"([^"]+)")?', told):
            assert (ROOT / page).exists(), f"{path} refers to {page}"
            text = (ROOT / page).read_text(encoding="utf-8")
            marks = rf"^(#+ |\* \*\*|\*\*){re.escape(part)}"
            assert re.search(marks, text, re.M), f'{path} refers to {page}, "{part}"'


def without_what_is_to_come(page: Path) -> tuple[str, str]:
    """A page's text, and what stands in it under "Not yet"."""
    text = page.read_text(encoding="utf-8")
    now, _, later = text.partition("\n## Not yet\n")
    return now, later


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_only_commands_that_are_there(page: Path) -> None:
    now, later = without_what_is_to_come(page)

    fixtures = {name for name in vars(pytest_plugin) if name.startswith("saga_")}
    named = set(re.findall(r"\bsaga_[a-z]+\b", now)) - {"saga_flow", "saga_dashboard"}
    assert named - COMMANDS - fixtures == set()
    assert COMMANDS & set(re.findall(r"\bsaga_[a-z]+\b", later)) == set()


# --------------------------------------------------------------------- operations.md


def written(value: object) -> str:
    """A default as the page writes it."""
    if isinstance(value, timedelta):
        return f"`timedelta(seconds={value.total_seconds():g})`"
    return f"`{value!r}`"


def test_the_settings_are_listed_with_their_defaults() -> None:
    rows = table(section(OPERATIONS, "## Settings"))

    assert [(row[0], row[1]) for row in rows] == [
        (f"`{field.name}`", written(field.default)) for field in fields(Settings)
    ]


def commands() -> dict[str, list[str]]:
    rows = table(section(OPERATIONS, "## Management commands"))
    return {re.findall(r"saga_\w+", row[0])[0]: row for row in rows}


def test_every_management_command_is_listed() -> None:
    assert commands().keys() == COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_listed_with_the_options_that_it_takes(name: str) -> None:
    parser = load_command_class("saga_flow", name).create_parser("manage.py", name)
    taken = {
        option
        for each in parser._actions
        for option in each.option_strings
        if option.startswith("--")
    } - OF_DJANGO

    assert set(re.findall(r"`(--[a-z-]+)", commands()[name][2])) == taken


def test_the_defaults_of_options_are_those_of_the_commands() -> None:
    found: dict[str, str] = {}
    for name, row in commands().items():
        parser = load_command_class("saga_flow", name).create_parser("manage.py", name)
        for option, told in re.findall(r"`(--[a-z-]+)`[^`,]*\((\d+)\)", row[2]):
            default = parser.get_default(option.removeprefix("--").replace("-", "_"))
            assert str(default) == told, (name, option)
            found[option] = told
    assert found.keys() == {"--limit", "--lines", "--stuck-after", "--grace"}


def test_the_options_that_may_be_repeated_are_named() -> None:
    text = section(OPERATIONS, "## Management commands")
    [line] = re.findall(r"^Options that may be given several times: (.*)$", text, re.M)
    wanted = {f"--{name.replace('_', '-')}" for name in SEVERAL}
    assert set(re.findall(r"--[a-z-]+", line)) == wanted


def test_every_sweep_is_listed_with_its_period() -> None:
    rows = table(section(OPERATIONS, "## Sweeps"))

    assert {row[0].strip("`"): row[1] for row in rows} == {
        name: f"{EVERY[name]:g} s" for name in REGISTERED
    }


def test_the_numbers_of_liveness_are_those_of_the_code() -> None:
    rows = table(section(OPERATIONS, "## Workers and liveness"))

    assert [float(row[1]) for row in rows] == [
        heart.BEAT,
        heart.TICK,
        workers.SILENCE.total_seconds(),
        liveness.WATCHED,
        liveness.LONGEST_GAP,
        liveness.DISAGREEMENT,
        leases.TERM.total_seconds(),
    ]
    assert f"it is renewed every {RENEW:g}" in rows[-1][0]


def test_every_refusal_is_listed_with_its_reason() -> None:
    rows = table(section(OPERATIONS, "### Answers"))

    assert {row[0].strip("`"): row[1].strip("`") for row in rows} == REASON_OF
    for row in rows:
        for error in words(row[2]):
            assert issubclass(getattr(exceptions, error), exceptions.SagaFlowError)


def test_every_event_is_listed_with_the_lines_that_it_is_told_for() -> None:
    rows = table(section(OPERATIONS, "## Events"))
    types = {each for row in rows for each in re.findall(r"`([^`]+)`", row[1])}
    told = {id(getattr(events, name)) for name in first_column(rows)}

    assert types == events.SIGNALS.keys()
    assert told == {id(signal) for signal in events.SIGNALS.values()}


# ---------------------------------------------------------------------- authoring.md


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("## Actions", set(action.ActionOptions.__annotations__)),
        ("## Workflows", set(meta._OPTIONS)),
        ("## Starting", set(StartOptions.__annotations__)),
        ("### Lists", {*filters.NAMES, "subject"}),
    ],
)
def test_the_options_of_authors_are_listed(heading: str, names: set[str]) -> None:
    assert first_column(table(section(AUTHORING, heading))) - VALUES == names


VALUES: Final = frozenset({"FAIL", "QUEUE"})
"""Values of an option that stand beside its name."""


def test_the_fields_of_a_retry_are_listed() -> None:
    rows = table(section(AUTHORING, "### Trying again"))

    assert first_column(rows) == {field.name for field in fields(Retry)}


def test_the_options_of_a_command_are_listed() -> None:
    text = section(AUTHORING, "## Finding and steering")
    after = text[text.index("| option | means |") :]

    assert first_column(table(after)) == set(CommandOptions.__annotations__)


def test_the_members_of_a_handle_are_listed() -> None:
    rows = table(section(AUTHORING, "## Finding and steering"))
    text = section(AUTHORING, "## Finding and steering")
    public = {name for name in dir(Handle) if not name.startswith("_")}
    twins = {
        name
        for name in public
        if iscoroutinefunction(found := getattr(Handle, name))
        or isasyncgenfunction(found)
    }
    constructors = {"of_answer", "of_snapshot"}
    translations = {name for name in public if name.startswith("status_")} - {
        "status_bucket",
        "status_summary",
    }

    listed = {word for row in rows for word in words(row[1])}
    assert listed - {"None", "RunEnded", "ObservationTimeout"} <= public
    other = public - constructors - translations - twins - listed
    assert {name for name in other if not re.search(rf"\b{name}\(", text)} == set()


def test_the_engine_calls_are_there() -> None:
    rows = table(section(AUTHORING, "## Engine calls"))
    calls = set(re.findall(r"self\.(\w+)", " ".join(row[0] for row in rows)))
    own = {
        name
        for name in vars(saga_flow.Workflow)
        if not name.startswith("_")
        and name not in {"handle", "start", "astart", "using"}
    }

    assert calls - {"approval"} == own


def test_every_error_that_authors_meet_is_listed() -> None:
    listed = first_column(table(section(AUTHORING, "## Errors")))
    classes = {
        name
        for name in saga_flow.__all__
        if isinstance(found := getattr(saga_flow, name), type)
        and issubclass(found, exceptions.SagaFlowError)
    }
    roots = {"SagaFlowError", "RunEnded", "CommandRejected", "DefinitionError"}

    assert listed == classes - roots


ABSENT: Final = [
    "wait_until",
    "continue_as_new",
    "patched",
    "version",
]


def test_what_is_not_yet_there_is_absent() -> None:
    assert [name for name in ABSENT if hasattr(saga_flow.Workflow, name)] == []


# ------------------------------------------------------------------------ testing.md


def test_the_helpers_for_tests_are_listed() -> None:
    text, later = without_what_is_to_come(TESTING)
    listed = first_column(table(text))
    records = {"Call", "FakeAction", "FakeClock"}

    assert listed - {"raises", "side_effect"} == set(testing.__all__) - records
    assert [name for name in words(later) if hasattr(testing, name)] == []


def test_what_a_step_context_takes_is_listed() -> None:
    text = TESTING.read_text(encoding="utf-8")
    [line] = re.findall(r"^`step_context` takes (.*)$", text, re.MULTILINE)

    assert words(line) == set(inspect.signature(testing.step_context).parameters)


# ------------------------------------------------------- writes.md, architecture.md


def rows_of_writes() -> dict[int, bool]:
    """The rows of docs/writes.md by number, and whether they have code."""
    text = WRITES.read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d+)( ○)? \|", text, re.MULTILINE)
    assert len({number for number, _ in found}) == len(found), "a number twice"
    return {int(number): not without for number, without in found}


def rows_of_code() -> set[int]:
    """The rows that modules of the store name."""
    found: set[int] = set()
    for path in (ROOT / "saga_flow/store").glob("*.py"):
        for told in re.findall(r"\brows? ([\d–, and]+)", path.read_text()):
            for first, last in re.findall(r"(\d+)(?:–(\d+))?", told):
                found |= set(range(int(first), int(last or first) + 1))
    return found


def test_a_write_is_marked_as_missing_exactly_if_the_page_says_so_below() -> None:
    later = without_what_is_to_come(WRITES)[1]
    [told] = re.findall(r"and no code: ([\d, and]+)\.", later)

    missing = {number for number, has_code in rows_of_writes().items() if not has_code}
    assert {int(number) for number in re.findall(r"\d+", told)} == missing


def test_the_store_names_no_write_that_is_marked_as_missing() -> None:
    rows = rows_of_writes()

    assert sorted(rows) == list(range(1, max(rows) + 1))
    assert {number for number in rows_of_code() if not rows.get(number)} == set()


@pytest.mark.parametrize("package", ["engine", "store"])
def test_each_module_of_the_inner_packages_has_its_place(package: str) -> None:
    listed = first_column(table(section(ARCHITECTURE, f"### In the {package}")))
    modules = {path.stem for path in (ROOT / "saga_flow" / package).glob("*.py")}

    assert listed == modules - {"__init__"}


def test_each_folder_and_module_of_the_package_has_its_place() -> None:
    rows = table(section(ARCHITECTURE, "## The folders"))
    cells = [cell for row in rows for cell in re.findall(r"`([^`]+)`", row[0])]
    listed = {cell.removeprefix("saga_flow/").rstrip("/") for cell in cells}
    there = {
        path.name
        for path in (ROOT / "saga_flow").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert there - {"__init__.py"} <= listed
    for cell in cells:
        assert (ROOT / cell).exists() or (ROOT / "saga_flow" / cell).exists(), cell


# -------------------------------------------------------------------- the whole tree


def test_every_table_of_a_page_is_well_formed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for rows in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {line.count("|") for line in rows.splitlines()}
            assert len(widths) == 1, (name_of(page), rows.splitlines()[0], widths)


def test_a_sentence_has_a_line_of_its_own() -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("|"):
                continue
            found = re.search(r"[a-z`)]\. [A-Z]", re.sub(r"^\d+\. ", "", line))
            assert found is None, f"{name_of(page)}: {number}: {line}"

"""The list of promised behaviours is checked, and tests are held against it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import coverage_of_ids
from tests.coverage_of_ids import ListIsWrong, main, read_claims, read_list

LIST = """
done = [{done}]
issues = ["First", "Second"]

[[behaviour]]
id = "M-A-1"
line = "a run completes"
issue = "First"

[[behaviour]]
id = "M-A-2"
line = "a run fails"
issue = "First"

[[behaviour]]
id = "M-A-3"
line = "a block is one level"
issue = "Second"
asked_by = "First"
why = "needs blocks"

[[behaviour]]
id = "LR-1"
line = "closures run"
issue = "First"

[superseded.LR-1]
page = "docs/page.md"
reason = "an undo is named"
{more}
"""

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that lays out a project and runs the command in it."""

    def run(test: str, *argv: str, done: str = "", more: str = "") -> int:
        write_project(tmp_path, test, done=done, more=more)
        tests = tmp_path / "tests"
        return main(argv, tests=tests, acceptance=tests / "acceptance.toml")

    return run


def write_project(root: Path, test: str, *, done: str = "", more: str = "") -> None:
    for folder in ("docs", "tests"):
        (root / folder).mkdir(exist_ok=True)
    (root / "docs" / "page.md").write_text("A page.\n", encoding="utf-8")
    text = LIST.format(done=done, more=more)
    (root / "tests" / "acceptance.toml").write_text(text, encoding="utf-8")
    (root / "tests" / "test_it.py").write_text(test, encoding="utf-8")


def claiming(*ids: str) -> str:
    marker = ", ".join(f'"{each}"' for each in ids)
    return f"import pytest\n\n@pytest.mark.covers({marker})\ndef test_it(): ...\n"


def test_ids_of_an_unfinished_issue_may_be_missing(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(claiming("M-A-1"))

    out = capsys.readouterr().out
    assert code == 0
    assert "First\n  covered 1 · not covered 1 · superseded 1" in out
    assert "M-A-2        a run fails" in out


def test_a_finished_issue_with_an_untested_id_fails(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(claiming("M-A-1"), done='"First"')

    assert code == 1
    assert capsys.readouterr().err.strip().endswith("not covered: M-A-2")


def test_superseded_and_later_ids_do_not_fail_a_finished_issue(
    run: Run,
) -> None:
    assert run(claiming("M-A-1", "M-A-2"), done='"First"') == 0


def test_an_id_superseded_only_in_part_still_needs_its_test(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    part = (
        "[superseded.M-A-2]\npage = 'docs/page.md'\nreason = 'r'\npart = 'the colour'\n"
    )

    code = run(claiming("M-A-1"), "--issue", "First", done='"First"', more=part)

    assert code == 1
    assert "In part (the colour): r (docs/page.md)" in capsys.readouterr().out


def test_one_issue_is_shown_in_full_with_what_moved_on(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run(claiming("M-A-1"), "--issue", "First")

    out = capsys.readouterr().out
    assert "LR-1         an undo is named (docs/page.md)" in out
    assert "M-A-3        Second. needs blocks" in out
    assert not out.startswith("Second")


def test_one_issue_shows_why_an_id_is_delivered_there(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run(claiming("M-A-1"), "--issue", "Second")

    assert "a block is one level Note: needs blocks" in capsys.readouterr().out


def test_an_unknown_id_is_an_error_that_names_the_place(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(claiming("M-A-11"))

    message = capsys.readouterr().err
    assert code == 2
    assert "unknown id M-A-11 claimed at tests/test_it.py:3" in message
    assert "did you mean M-A-1?" in message


def test_an_unknown_issue_is_an_error_that_names_the_known_ones(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(claiming("M-A-1"), "--issue", "Frist")

    message = capsys.readouterr().err
    assert code == 2
    assert "did you mean 'First'?" in message
    assert "Second" in message


@pytest.mark.parametrize(
    "test",
    [
        claiming("M-A-1", "M-A-2"),
        "import pytest\npytestmark = pytest.mark.covers('M-A-1', 'M-A-2')\n",
        "import pytest\npytestmark = [pytest.mark.covers('M-A-1', 'M-A-2')]\n",
        "from pytest import mark\n@mark.covers('M-A-1', 'M-A-2')\nclass TestIt: ...\n",
        claiming("M-A-1", "M-A-2").replace("def ", "async def "),
        "import nowhere\nP = param(1, marks=pytest.mark.covers('M-A-1', 'M-A-2'))\n",
    ],
    ids=["function", "module", "module list", "class", "coroutine", "parameter"],
)
def test_a_claim_is_found_wherever_a_marker_may_stand(run: Run, test: str) -> None:
    assert run(test, done='"First"') == 0


@pytest.mark.parametrize("marker", ["skip", "skip('no')", "xfail", "xfail('no')"])
def test_a_test_that_never_counts_covers_nothing(run: Run, marker: str) -> None:
    test = claiming("M-A-1", "M-A-2").replace(
        "def test_it", f"@pytest.mark.{marker}\ndef test_it"
    )

    assert run(test, done='"First"') == 1


def test_a_claim_in_a_skipped_class_covers_nothing(run: Run) -> None:
    test = (
        "import pytest\n@pytest.mark.skip\nclass TestIt:\n"
        "    @pytest.mark.covers('M-A-1', 'M-A-2')\n    def test_a(self): ...\n"
    )

    assert run(test, done='"First"') == 1


def test_a_test_skipped_under_a_condition_covers(run: Run) -> None:
    test = claiming("M-A-1", "M-A-2").replace(
        "def test_it", "@pytest.mark.skipif(HERE, reason='r')\ndef test_it"
    )

    assert run(test, done='"First"') == 0


@pytest.mark.parametrize("call", ["covers()", "covers(IDS)", "covers(ids='M-A-1')"])
def test_a_claim_that_text_alone_cannot_tell_is_refused(
    tmp_path: Path, call: str
) -> None:
    write_project(tmp_path, f"import pytest\npytestmark = pytest.mark.{call}\n")

    with pytest.raises(ListIsWrong, match=r"test_it\.py:2: covers\(\) takes ids"):
        read_claims(tmp_path / "tests")


def test_a_test_file_that_does_not_parse_is_named(tmp_path: Path) -> None:
    write_project(tmp_path, "def broken(:\n")

    with pytest.raises(ListIsWrong, match=r"test_it\.py: can't be parsed"):
        read_claims(tmp_path / "tests")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("[[behaviour]]\nid = 'X-1'\nline = 'x'\n", "behaviour X-1: issue is missing"),
        (
            "[[behaviour]]\nid = 'X-1'\nline = 'x'\nissue = 'First'\nnote = 'n'\n",
            "behaviour X-1: unknown key 'note'",
        ),
        (
            "[[behaviour]]\nid = 'X-1'\nline = 'x'\nissue = 'Secnd'\n",
            "behaviour X-1: unknown issue 'Secnd'; did you mean 'Second'?",
        ),
        (
            "[[behaviour]]\nid = 'M-A-1'\nline = 'x'\nissue = 'First'\n",
            "behaviour M-A-1: listed 2 times",
        ),
        ("[superseded.M-A-2]\npage = 'docs/page.md'\n", "reason is missing"),
        (
            "[superseded.M-A-2]\npage = 'docs/page.md'\nreason = ' '\n",
            "superseded M-A-2: reason is empty",
        ),
        (
            "[superseded.M-A-2]\npage = 'docs/gone.md'\nreason = 'r'\n",
            "superseded M-A-2: page docs/gone.md does not exist",
        ),
        (
            "[superseded.X-1]\npage = 'docs/page.md'\nreason = 'r'\n",
            "superseded X-1: no behaviour of that id is listed",
        ),
        ("][", "can't be read"),
    ],
)
def test_a_fault_in_the_list_is_named(tmp_path: Path, more: str, fault: str) -> None:
    write_project(tmp_path, "", more=more)

    with pytest.raises(ListIsWrong) as raised:
        read_list(tmp_path / "tests" / "acceptance.toml")
    assert fault in str(raised.value)


def test_a_finished_issue_must_be_a_known_one(tmp_path: Path) -> None:
    write_project(tmp_path, "", done='"Third"')

    with pytest.raises(ListIsWrong, match="done: unknown issue 'Third'"):
        read_list(tmp_path / "tests" / "acceptance.toml")


def test_the_projects_own_list_and_claims_are_sound() -> None:
    wanted = read_list(coverage_of_ids.TESTS / "acceptance.toml")

    claims = read_claims(coverage_of_ids.TESTS)

    coverage_of_ids.check_claims(wanted, claims)
    assert wanted.behaviours

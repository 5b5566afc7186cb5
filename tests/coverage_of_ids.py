"""
Says which promised behaviours have a test, and which do not yet.

Run it as ``python -m tests.coverage_of_ids [--issue "title"]``.

``tests/acceptance.toml`` lists every promised behaviour by id, with the title of the
issue that delivers it. A test claims ids with ``@pytest.mark.covers("M-RUN-1", …)``.
The tests are read as text, never imported, so this works without Django, without a
database, and while a test file can't be imported.

Exit codes: 0 nothing is missing · 1 a finished issue has an id without a test ·
2 the list or a claim is wrong (unknown id, unknown title, missing page).
"""

from __future__ import annotations

import argparse
import ast
import sys
import textwrap
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
NEVER_RUN = frozenset({"skip", "xfail"})
KEYS = {
    "behaviour": ({"id", "line", "issue"}, {"why", "asked_by"}),
    "superseded": ({"page", "reason"}, {"part"}),
}
"""What an entry of each kind must have, and what it may have."""


class ListIsWrong(Exception):
    """The list, a claim or the command line is wrong; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One promised behaviour and the issue that delivers it."""

    id: str
    line: str
    issue: str
    why: str = ""
    """Why it is delivered there, where that is not obvious."""
    asked_by: str = ""
    """The earlier issue whose group the id belongs to, when it had to move on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A behaviour that this project decided otherwise."""

    page: str
    reason: str
    part: str = ""
    """What of it is decided otherwise; empty means all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceList:
    """The whole list, in the order of the file."""

    done: tuple[str, ...]
    issues: tuple[str, ...]
    behaviours: tuple[Behaviour, ...]
    superseded: Mapping[str, Superseded]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One id that one marker claims, and where."""

    id: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one issue stands."""

    issue: str
    done: bool
    covered: tuple[Behaviour, ...]
    uncovered: tuple[Behaviour, ...]
    superseded: tuple[Behaviour, ...]
    moved_on: tuple[Behaviour, ...]


def read_list(path: Path) -> AcceptanceList:
    """Read and check the list at *path*; raise `ListIsWrong` with all its faults."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ListIsWrong(f"{path}: can't be read: {error}") from error
    rows = data.get("behaviour", [])
    entries = data.get("superseded", {})
    faults = [
        *_faults_of_keys("behaviour", ((row.get("id", row), row) for row in rows)),
        *_faults_of_keys("superseded", entries.items()),
    ]
    if faults:
        raise ListIsWrong("\n".join(faults))
    wanted = AcceptanceList(
        done=tuple(data.get("done", ())),
        issues=tuple(data.get("issues", ())),
        behaviours=tuple(Behaviour(**row) for row in rows),
        superseded={name: Superseded(**row) for name, row in entries.items()},
    )
    root = path.resolve().parent.parent
    faults = [*_faults_of_behaviours(wanted), *_faults_of_superseded(wanted, root)]
    if faults:
        raise ListIsWrong("\n".join(faults))
    return wanted


def _faults_of_keys(
    kind: str, rows: Iterable[tuple[object, Mapping[str, Any]]]
) -> Iterator[str]:
    needed, allowed = KEYS[kind]
    for name, row in rows:
        for key in sorted(needed - row.keys()):
            yield f"{kind} {name}: {key} is missing"
        for key in sorted(row.keys() - needed - allowed):
            legal = ", ".join(sorted(needed | allowed))
            yield f"{kind} {name}: unknown key {key!r}; legal are {legal}"


def _faults_of_behaviours(wanted: AcceptanceList) -> Iterator[str]:
    for name, times in Counter(each.id for each in wanted.behaviours).items():
        if times > 1:
            yield f"behaviour {name}: listed {times} times; an id is listed once"
    named = [("done", title) for title in wanted.done]
    for each in wanted.behaviours:
        named += [(f"behaviour {each.id}", t) for t in (each.issue, each.asked_by)]
    for place, title in named:
        if title and title not in wanted.issues:
            yield f"{place}: {_unknown_title(title, wanted.issues)}"


def _faults_of_superseded(wanted: AcceptanceList, root: Path) -> Iterator[str]:
    ids = {each.id for each in wanted.behaviours}
    for name, entry in wanted.superseded.items():
        if name not in ids:
            yield f"superseded {name}: no behaviour of that id is listed"
        if not entry.reason.strip():
            yield f"superseded {name}: reason is empty; say what is done instead"
        if not (root / entry.page).is_file():
            yield f"superseded {name}: page {entry.page} does not exist"


def _unknown_title(title: str, known: Sequence[str]) -> str:
    close = get_close_matches(title, known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    legal = "\n".join(f"    {each}" for each in known)
    return f"unknown issue {title!r}{hint} Known titles:\n{legal}"


def read_claims(folder: Path) -> tuple[Claim, ...]:
    """Collect what the tests under *folder* claim, without importing any of them."""
    claims: list[Claim] = []
    faults: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            faults.append(f"{path}: can't be parsed: {error}")
            continue
        never_run = _markers_that_never_run(tree)
        for call in _calls_of(tree, "covers"):
            place = f"{path.relative_to(folder.parent)}:{call.lineno}"
            if not call.args or call.keywords or not all(map(_is_text, call.args)):
                faults.append(
                    f"{place}: covers() takes ids as literal strings, at least one, "
                    'such as covers("M-RUN-1")'
                )
            elif call not in never_run:
                claims.extend(Claim(id=_text(a), place=place) for a in call.args)
    if faults:
        raise ListIsWrong("\n".join(faults))
    return tuple(claims)


def _calls_of(tree: ast.AST, marker: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _marker_name(node) == marker:
            yield node


def _marker_name(node: ast.expr) -> str:
    """Return ``x`` for ``pytest.mark.x``, ``mark.x`` or a call of either, else ''."""
    target = node.func if isinstance(node, ast.Call) else node
    if not isinstance(target, ast.Attribute):
        return ""
    match target.value:
        case ast.Attribute(attr="mark") | ast.Name(id="mark"):
            return target.attr
    return ""


def _markers_that_never_run(tree: ast.Module) -> set[ast.Call]:
    """Find claims on tests that are skipped or expected to fail: they prove nothing."""
    dead: set[ast.Call] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = {_marker_name(each) for each in node.decorator_list}
                if names & NEVER_RUN:
                    dead.update(_calls_of(node, "covers"))
    return dead


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(node: ast.expr) -> str:
    return str(ast.literal_eval(node))


def check_claims(wanted: AcceptanceList, claims: Iterable[Claim]) -> None:
    """Raise `ListIsWrong` naming each claimed id that the list does not have."""
    known = [each.id for each in wanted.behaviours]
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for claim in claims:
        if claim.id not in known:
            unknown[claim.id].append(claim.place)
    lines = []
    for name, places in sorted(unknown.items()):
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        lines.append(f"unknown id {name} claimed at {', '.join(places)}{hint}")
    if lines:
        raise ListIsWrong("\n".join(lines))


def standings(wanted: AcceptanceList, claims: Iterable[Claim]) -> list[Standing]:
    """Sort every behaviour into covered, uncovered and superseded, issue by issue."""
    claimed = {claim.id for claim in claims}
    given_up = {name for name, each in wanted.superseded.items() if not each.part}

    def of(issue: str) -> Standing:
        rows = [each for each in wanted.behaviours if each.issue == issue]
        live = [each for each in rows if each.id not in given_up]
        return Standing(
            issue=issue,
            done=issue in wanted.done,
            covered=tuple(each for each in live if each.id in claimed),
            uncovered=tuple(each for each in live if each.id not in claimed),
            superseded=tuple(each for each in rows if each.id in given_up),
            moved_on=tuple(e for e in wanted.behaviours if e.asked_by == issue),
        )

    return [of(issue) for issue in wanted.issues]


def report(standing: Standing, wanted: AcceptanceList, *, whole: bool) -> str:
    """Word one issue's standing; *whole* adds what was superseded and moved on."""
    counts = (
        f"covered {len(standing.covered)}",
        f"not covered {len(standing.uncovered)}",
        f"superseded {len(standing.superseded)}",
    )
    lines = [
        f"{standing.issue}{'   (done)' if standing.done else ''}",
        f"  {' · '.join(counts)}",
    ]
    if standing.uncovered:
        lines.append("  not covered:")
        for each in standing.uncovered:
            note = f" Note: {each.why}" if whole and each.why else ""
            lines.append(_entry(each.id, f"{each.line}{note}"))
    if whole:
        lines += _settled_otherwise(standing, wanted)
    return "\n".join(lines)


def _settled_otherwise(standing: Standing, wanted: AcceptanceList) -> Iterator[str]:
    live = (*standing.covered, *standing.uncovered)
    partly = [each for each in live if each.id in wanted.superseded]
    if standing.superseded or partly:
        yield "  superseded:"
    for each in (*standing.superseded, *partly):
        entry = wanted.superseded[each.id]
        part = f"In part ({entry.part}): " if entry.part else ""
        yield _entry(each.id, f"{part}{entry.reason} ({entry.page})")
    if standing.moved_on:
        yield "  delivered by a later issue:"
    for each in standing.moved_on:
        yield _entry(each.id, f"{each.issue}. {each.why}")


def _entry(name: str, text: str) -> str:
    return textwrap.fill(
        text,
        width=100,
        initial_indent=f"    {name:<12} ",
        subsequent_indent=" " * 17,
    )


def verdict(rows: Sequence[Standing]) -> str:
    """Say in one line what is missing from finished issues; '' if nothing is."""
    missing = [each.id for row in rows if row.done for each in row.uncovered]
    if not missing:
        return ""
    return f"FAILED: of finished issues, not covered: {', '.join(missing)}"


def _assess(
    wanted: AcceptanceList, claims: Sequence[Claim], chosen: str | None
) -> list[Standing]:
    if chosen is not None and chosen not in wanted.issues:
        raise ListIsWrong(_unknown_title(chosen, wanted.issues))
    check_claims(wanted, claims)
    return [row for row in standings(wanted, claims) if chosen in (None, row.issue)]


def main(
    argv: Sequence[str] | None = None,
    *,
    tests: Path = TESTS,
    acceptance: Path = TESTS / "acceptance.toml",
) -> int:
    """Print the report and return the exit code (see the module's docstring)."""
    parser = argparse.ArgumentParser(
        prog="coverage_of_ids",
        description="Which promised behaviours have a test, issue by issue.",
    )
    parser.add_argument("--issue", metavar="TITLE", help="only this issue, in full")
    chosen: str | None = parser.parse_args(argv).issue
    try:
        wanted = read_list(acceptance)
        rows = _assess(wanted, read_claims(tests), chosen)
    except ListIsWrong as error:
        sys.stderr.write(f"{error}\n")
        return 2
    whole = chosen is not None
    text = "\n\n".join(report(row, wanted, whole=whole) for row in rows)
    sys.stdout.write(f"{text}\n")
    failed = verdict(rows)
    if failed:
        sys.stderr.write(f"\n{failed}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

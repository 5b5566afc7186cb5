"""The pages of the documentation: their blocks of code, tables and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
DOCS: Final = ROOT / "docs"
README: Final = ROOT / "README.md"
PAGES: Final = (
    README,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
)

_BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"# (?P<path>[\w/]+)\.py\n")
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of Python on a page."""

    page: str
    line: int
    code: str

    @property
    def module(self) -> str | None:
        """The module that the block is part of, by the file that it names first."""
        found = _FILE.match(self.code)
        return None if found is None else found["path"].replace("/", ".")

    @property
    def is_a_test_module(self) -> bool:
        """Whether the block is a whole file that pytest would collect."""
        return (self.module or "").rpartition(".")[2].startswith("test_")


def name_of(page: Path) -> str:
    """How a page is called from the project's folder."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of Python of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page=name_of(page),
            line=text.count("\n", 0, found.start(1)) + 1,
            code=found.group(1),
        )
        for found in _BLOCK.finditer(text)
    ]


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links within the project."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for found in _LINK.finditer(text):
        target = found["target"]
        if "://" not in target:
            yield target


def anchors(page: Path) -> set[str]:
    """What a link may name behind ``#`` on a page."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


def section(page: Path, heading: str) -> str:
    """What stands under *heading*, a line with its marks, up to its next equal."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    level = heading.split(" ", 1)[0]
    _, _, after = text.partition(f"\n{heading}\n")
    assert after, f"{name_of(page)} has no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def table(text: str) -> list[list[str]]:
    """The cells of the first table in *text*, without its head."""
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert found is not None, text
    rows = found.group().strip().splitlines()[2:]
    return [
        [cell.strip() for cell in row.removeprefix("|").removesuffix("|").split(" | ")]
        for row in rows
    ]

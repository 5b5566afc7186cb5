"""docs/operations.md lists the checks as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

from saga_flow.checks.catalogue import PROBLEMS

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


def test_the_table_of_checks_is_the_catalogue() -> None:
    rows = re.findall(
        r"^\| `(saga_flow\.[EW]\d{3})` \| (\w+) \| (.+?) \| (.+?) \|$",
        PAGE.read_text(encoding="utf-8").replace("&#124;", "|"),
        re.MULTILINE,
    )

    told = [tuple(cell.replace("`", "") for cell in row) for row in rows]
    assert told == [
        (problem.id, problem.level, problem.when, problem.remedy)
        for problem in PROBLEMS
    ]

"""What a type checker tells: good.py passes, each marked line of bad.py fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

CONFIGS = {
    "with django-stubs": ROOT / "pyproject.toml",
    "without plugins": HERE / "plain.toml",
}

ERROR = re.compile(r"bad\.py:(\d+): error: ")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_good_passes_and_every_planted_error_is_caught(config: Path) -> None:
    planted = {
        number
        for number, line in enumerate((HERE / "bad.py").read_text().splitlines(), 1)
        if line.rstrip().endswith("# E")
    }

    report = _mypy(config)

    assert "good.py" not in report, report
    assert {int(number) for number in ERROR.findall(report)} == planted, report


def _mypy(config: Path) -> str:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", str(config), "--strict"),
            *("--no-error-summary", str(HERE / "good.py"), str(HERE / "bad.py")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # 0 and 1 are verdicts; anything else is mypy itself failing.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout

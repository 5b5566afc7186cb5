"""A peer's process: one question a line in, one number a line out."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

_HERE: Final = Path(__file__).resolve().parent
_REQUIREMENTS: Final = _HERE.parent / "requirements.txt"
_ENVIRONMENT: Final = Path(
    os.environ.get("BENCHMARKS_VENV", _HERE.parents[1] / "var" / "benchmarks-venv")
)


class Peer:
    """Another engine, in its own Python environment; a context while it runs."""

    def __init__(self, name: str, module: str, db: str) -> None:
        self.name = name
        self._module, self._db = module, db
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [str(_python()), "-m", f"benchmarks.peers.{self._module}", self._db],
            cwd=_HERE.parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def ask(self, question: str) -> float:
        """The peer's sample. Raises RuntimeError when it has ended instead."""
        questions, answers = self._pipes()
        print(question, file=questions, flush=True)
        for line in answers:
            if line.startswith("answer "):
                return float(line.split()[1])
        raise RuntimeError(f"{self.name} ended when asked for {question!r}.")

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        with contextlib.suppress(BrokenPipeError):
            self._pipes()[0].close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()


def _python() -> Path:
    """The Python of the peers' environment, which is made when it isn't there."""
    python = _ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"Installing {_REQUIREMENTS} into {_ENVIRONMENT}", file=sys.stderr)
        venv.create(_ENVIRONMENT, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "-r"]
        subprocess.run([*pip, str(_REQUIREMENTS)], check=True)
    return python

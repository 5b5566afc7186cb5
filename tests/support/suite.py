"""
Run the test suite: all of it on SQLite, then what servers can show on each of them.

``python -m tests.support.suite [pytest arguments]``. With ``SAGA_REQUIRE_SERVERS=1``
a server that is neither running nor can be started fails the run; without it, it is
reported as not tested. Stops at the first run that fails, whose output is then last.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.services import (
    MARIADB,
    POSTGRESQL,
    REDIS,
    Absent,
    Environment,
    available,
)

SERVERS = (REDIS, POSTGRESQL, MARIADB)
NO_TESTS = 5
Selection = tuple[tuple[str, tuple[str, ...]], ...]
"""Parts of a run: what the title says of each, and what pytest is told."""

ON_ALL_CORES = ("-n", "logical")

# Races and clusters bring processes of their own, and so run alone.
WHOLE: Selection = (
    ("", ("-m", "not (races or cluster)", *ON_ALL_CORES)),
    (", races and clusters", ("-m", "races or cluster")),
)
ON_SERVERS: Selection = (
    ("", ("-m", "conformance and not races", *ON_ALL_CORES)),
    (", races", ("-m", "races")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run of pytest ended."""

    code: int
    closing_line: str


def main(arguments: Sequence[str]) -> int:
    """Run the suite with pytest's *arguments* and return the exit code."""
    required = os.environ.get("SAGA_REQUIRE_SERVERS") == "1"
    with contextlib.ExitStack() as stack:
        found, absent = _gather(stack)
        if absent and required:
            _report(absent)
            print("FAILED: SAGA_REQUIRE_SERVERS=1 asks for every server.")
            return 1
        code, lines = _runs(found, arguments)
    if code == 0:
        _report(absent)
        print(*lines, sep="\n", flush=True)
    return code


def _gather(
    stack: contextlib.ExitStack,
) -> tuple[dict[str, Environment], dict[str, str]]:
    found: dict[str, Environment] = {}
    absent: dict[str, str] = {}
    for server in SERVERS:
        try:
            found[server.name] = stack.enter_context(available(server))
        except Absent as why:
            absent[server.name] = str(why)
    return found, absent


def _runs(
    found: dict[str, Environment], arguments: Sequence[str]
) -> tuple[int, list[str]]:
    servers = {
        name: value
        for environment in found.values()
        for name, value in environment.items()
    }
    lines = []
    for title, database, selection in _plan(found, arguments):
        print(f"\n=== Tests on {title} ===", flush=True)
        outcome = _pytest([*selection, *arguments], servers | {"SAGA_DB": database})
        # A selection of the caller's own may leave nothing to show on a server.
        if outcome.code and not (arguments and outcome.code == NO_TESTS):
            return outcome.code, []
        lines.append(f"{title}:\n{outcome.closing_line}")
    return 0, lines


def _plan(
    found: dict[str, Environment], arguments: Sequence[str]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Title, database and selection of each run of pytest."""
    chosen = any(each == "-m" for each in arguments)
    # A marker expression of the caller's replaces ours.
    all_of_it: Selection = (("", ()),)
    whole, on_servers = (all_of_it, all_of_it) if chosen else (WHOLE, ON_SERVERS)
    servers = [server.name for server in (POSTGRESQL, MARIADB) if server.name in found]
    return [("SQLite" + part, "sqlite", picked) for part, picked in whole] + [
        (name + part, name.lower(), picked)
        for name in servers
        for part, picked in on_servers
    ]


def _pytest(arguments: Sequence[str], env: Environment) -> Outcome:
    closing_line = ""
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                closing_line = line.rstrip() or closing_line
        except BaseException:
            # Told to stop: so is pytest, which still drops its databases.
            process.send_signal(signal.SIGINT)
            raise
    return Outcome(code=process.returncode, closing_line=closing_line)


def _report(absent: dict[str, str]) -> None:
    print()
    for name, why in absent.items():
        print(f"{name}: not tested. {why}")


if __name__ == "__main__":
    # So that started servers are ended when the run is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

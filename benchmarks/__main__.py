"""``python -m benchmarks [peers] [names] [--db sqlite] [--rounds 5] [--json]``."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measuring import ROUNDS

if TYPE_CHECKING:
    from benchmarks.measuring import Figure

DATABASE: Final = "saga_flow_benchmarks"
_DBS: Final = ("sqlite", "postgresql", "mariadb")


def main() -> None:
    """Measure what is asked for, and print it line by line."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        _prepare(options.db, Path(folder), prepared=options.prepared)
        _print(options.names, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="peers, or figures; all by default")
    parser.add_argument("--db", choices=_DBS, default="sqlite")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--prepared", action="store_true", help="prepare statements; PostgreSQL alone"
    )
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    if options.prepared and options.db != "postgresql":
        parser.error("--prepared is for --db postgresql alone")
    return options


def _prepare(db: str, folder: Path, *, prepared: bool) -> None:
    """Have this process, and each that it starts, use a database for benchmarks."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "SAGA_DB": db,
        "SAGA_SQLITE_PATH": str(folder / "benchmarks.sqlite3"),
        "PGDATABASE": DATABASE,
        "MYSQL_DATABASE": DATABASE,
        "BENCHMARKS_FOLDER": str(folder),
        "BENCHMARKS_PREPARED": "1" if prepared else "",
    }
    import django  # noqa: PLC0415 - after its settings are named

    django.setup()


def _print(names: Sequence[str], options: argparse.Namespace) -> None:
    from benchmarks import figures, peers  # noqa: PLC0415 - Django is ready only now
    from benchmarks.raw import Raw  # noqa: PLC0415
    from benchmarks.setting import Setting  # noqa: PLC0415

    asked = "peers" in names
    wanted = [name for name in names if name != "peers"]
    unknown = sorted(set(wanted) - set(figures.ALL))
    if unknown:
        raise SystemExit(
            f"There is no figure {', '.join(unknown)}; there are: "
            f"peers, {', '.join(figures.ALL)}."
        )
    with ExitStack() as stack:
        stack.enter_context(_database())
        found = [stack.enter_context(p) for p in peers.on(options.db)] if asked else []
        setting = Setting(db=options.db, rounds=options.rounds, raw=Raw(), peers=found)
        default = figures.BESIDE_PEERS if asked else tuple(figures.ALL)
        for name in wanted or default:
            for figure in figures.ALL[name](setting):
                print(_line(figure, as_json=options.json), flush=True)


@contextmanager
def _database() -> Iterator[None]:
    """Make the database anew, and drop it at the end."""
    from django.db import connection  # noqa: PLC0415

    name = str(connection.settings_dict["NAME"])
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def _line(figure: Figure, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(asdict(figure), ensure_ascii=False)
    goal = f"  (goal {figure.goal})" if figure.goal else ""
    return (
        f"{figure.db:10} {figure.figure:44} {figure.ours:9.2f} {figure.unit:9}"
        f" {figure.ratio:6.2f} × {figure.beside} ({figure.theirs:.2f}){goal}"
    )


if __name__ == "__main__":
    main()

"""DBOS, with its own defaults, doing what the figures ask for."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any, Final

if sqlite3.sqlite_version_info < (3, 42):
    # the schema of DBOS asks for a function that SQLite has only since then
    import pysqlite3.dbapi2  # type: ignore[import-not-found]

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2

import sqlalchemy  # type: ignore[import-not-found]
from dbos import DBOS, DBOSClient  # type: ignore[import-not-found]

from benchmarks.peers import answering

_QUEUE: Final = "measured"
_VERSION: Final = "1"


def _nothing(number: int) -> int:
    return number


nothing: Any = DBOS.step(name="nothing")(_nothing)


def _steps(count: int) -> int:
    for number in range(count):
        nothing(number)
    return count


steps: Any = DBOS.workflow(name="steps")(_steps)


class _Engine:
    def __init__(self, db: str) -> None:
        if db == "sqlite":
            folder = Path(os.environ["BENCHMARKS_FOLDER"])
            self.url = f"sqlite:///{folder / 'dbos.sqlite'}"
        else:
            self.url = answering.fresh_postgresql("saga_flow_benchmarks_dbos")
        schema = "" if db == "sqlite" else "dbos."
        self._ended = sqlalchemy.text(
            f"SELECT count(*) FROM {schema}workflow_status"  # noqa: S608
            f" WHERE queue_name = '{_QUEUE}' AND status = 'SUCCESS'"
        )
        self.launch([])
        DBOS.register_queue(_QUEUE)
        self._tables = sqlalchemy.create_engine(
            self.url.replace("postgresql:", "postgresql+psycopg:")
        )
        self._client: Any = DBOSClient(system_database_url=self.url)

    def launch(self, queues: list[str]) -> None:
        """Run DBOS in this process, taking work from *queues*."""
        DBOS(
            config={
                "name": "measured",
                "system_database_url": self.url,
                "application_version": _VERSION,
                "log_level": "ERROR",
                "run_admin_server": False,
            }
        )
        DBOS.listen_queues(queues)
        DBOS.launch()

    def enqueue(self, count: int, queue: str = _QUEUE) -> None:
        """Put one run of *count* steps into *queue*."""
        options = {
            "workflow_name": "steps",
            "queue_name": queue,
            "app_version": _VERSION,
        }
        self._client.enqueue(options, count)

    def ended(self) -> int:
        """How many queued runs have ended."""
        with self._tables.connect() as connection:
            return int(connection.execute(self._ended).scalar() or 0)

    def drain(self) -> float:
        """Work off 1,000 queued runs of 3 steps."""
        for _ in range(answering.RUNS):
            self.enqueue(3)
        before = self.ended()
        DBOS.destroy()
        self.launch([_QUEUE])
        rate = answering.drained_per_second(lambda: self.ended() - before)
        DBOS.destroy()
        self.launch([])
        return rate


def main() -> None:
    """Answer until nothing more is asked."""
    engine = _Engine(sys.argv[1])
    steps(1)
    answering.answer(
        {
            "steps": lambda: answering.per_second(lambda: steps(100), 100),
            "ten": lambda: answering.milliseconds(lambda: steps(10)),
            "start": lambda: answering.per_second(
                lambda: engine.enqueue(1, "never-taken"), 1
            ),
            "drain": engine.drain,
        }
    )
    DBOS.destroy()


if __name__ == "__main__":
    main()

"""absurd, doing what the figures ask for. It knows PostgreSQL alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

import psycopg
from absurd_sdk import Absurd  # type: ignore[import-not-found]

from benchmarks.peers import answering

_QUEUE: Final = "measured"
_UNTAKEN: Final = "untaken"


def _steps(given: dict[str, int], context: Any) -> int:
    for number in range(given["count"]):
        context.step(f"nothing-{number}", lambda: None)
    return given["count"]


class _Engine:
    def __init__(self) -> None:
        self.url = answering.fresh_postgresql("saga_flow_benchmarks_absurd")
        control = Path(sys.executable).with_name("absurdctl")
        subprocess.run(
            [str(control), "init"],
            env={**os.environ, "ABSURD_DATABASE_URL": self.url},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self._app = self._made(_QUEUE)
        self._untaken = self._made(_UNTAKEN)
        self._tables = psycopg.connect(self.url, autocommit=True)

    def _made(self, queue: str) -> Any:
        app: Any = Absurd(self.url, queue_name=queue)
        app.create_queue(queue)
        app.register_task("steps")(_steps)
        return app

    def run(self, count: int) -> None:
        """Queue one task and work it off at once."""
        self._app.spawn("steps", {"count": count})
        self._app.work_batch(worker_id="w", claim_timeout=60, batch_size=1)

    def start(self) -> None:
        """Queue one task that nobody takes."""
        self._untaken.spawn("steps", {"count": 1})

    def ended(self) -> int:
        """How many tasks have ended."""
        row = self._tables.execute(
            f"SELECT count(*) FROM absurd.t_{_QUEUE} WHERE state = 'completed'"  # noqa: S608
        ).fetchone()
        return int(row[0]) if row else 0

    def drain(self) -> float:
        """Work off 1,000 queued tasks of 3 steps, two at a time."""
        for _ in range(answering.RUNS):
            self._app.spawn("steps", {"count": 3})
        before, app = self.ended(), self._worker()
        options = {"worker_id": "w", "concurrency": 2, "batch_size": 10}
        thread = threading.Thread(target=app.start_worker, kwargs=options, daemon=True)
        thread.start()
        rate = answering.drained_per_second(lambda: self.ended() - before)
        app.stop_worker()
        thread.join(10)
        return rate

    def _worker(self) -> Any:
        app: Any = Absurd(self.url, queue_name=_QUEUE)
        app.register_task("steps")(_steps)
        return app


def main() -> None:
    """Answer until nothing more is asked."""
    engine = _Engine()
    engine.run(1)
    answering.answer(
        {
            "steps": lambda: answering.per_second(lambda: engine.run(100), 100),
            "ten": lambda: answering.milliseconds(lambda: engine.run(10)),
            "start": lambda: answering.per_second(engine.start, 1),
            "drain": engine.drain,
        }
    )


if __name__ == "__main__":
    main()

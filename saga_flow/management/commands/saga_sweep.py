"""``manage.py saga_sweep``: look over the rows once, or for good."""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from saga_flow import conf, jobs, sweeps
from saga_flow.executors import inline
from saga_flow.pulse.heart import TICK, Heart
from saga_flow.pulse.leader import Leader
from saga_flow.pulse.thread import PulseThread
from saga_flow.store import outbox
from saga_flow.sweeps.report import SweepReport


class Command(BaseCommand):
    """Run sweeps by hand, from cron, or instead of a cluster's own pulse."""

    help = (
        "Wake what is due, expire what is overdue, find what was lost. With --loop: "
        "for good, every second; without a cluster this process then does the work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "names", nargs="*", help=f"of {', '.join(sweeps.REGISTERED)}; default: all"
        )
        parser.add_argument("--loop", action="store_true", help="until interrupted")
        parser.add_argument("--json", action="store_true", help="print JSON lines")

    def handle(self, **options: Any) -> None:
        """Sweep once, or loop."""
        self._json = options["json"]
        names = _known(options["names"])
        if options["loop"]:
            if options["names"]:
                raise CommandError("--loop runs every sweep: name none", returncode=2)
            self._loop()
            return
        failed = sum(self._once(name) for name in names)
        if failed:
            raise CommandError(f"{failed} rows could not be swept; the log says why")

    def _once(self, name: str) -> int:
        report = sweeps.run_and_record(name)
        self._print(name, report)
        return report.counts.get("failed", 0)

    def _print(self, name: str, report: SweepReport) -> None:
        if self._json:
            self.stdout.write(json.dumps({"sweep": name, **report.as_json()}))
            return
        done = [f"{what}: {count}" for what, count in report.counts.items() if count]
        self.stdout.write(f"{name:<10} {', '.join(done) or 'nothing to do'}")

    def _loop(self) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        heart = Heart(leader=Leader(tell=self._tell))
        thread = PulseThread(heart)
        works = conf.get().EXECUTOR != "django_q"
        if works:
            outbox.bind(inline.wake)
        if not self._json:
            self.stdout.write(_greeting(works=works))
        thread.start()
        while not stop.wait(TICK):
            inline.drain(jobs.execute)
        thread.stop()
        heart.stop()

    def _tell(self, name: str, report: SweepReport) -> None:
        if report.touched:
            self._print(name, report)


def _greeting(*, works: bool) -> str:
    does = "Sweeping and doing the work here" if works else "Sweeping"
    return f"{does}, every second. Ctrl-C stops it."


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in sweeps.REGISTERED:
            raise CommandError(
                f"There is no sweep {name!r}; there are "
                f"{', '.join(sweeps.REGISTERED)}.",
                returncode=2,
            )
    return names or list(sweeps.REGISTERED)

"""``manage.py saga_cluster``: django-q2's cluster, with an eye on it."""

from __future__ import annotations

import json
import signal
import threading
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from saga_flow import clock
from saga_flow.management.cluster import ChildCluster, source_times
from saga_flow.management.spans import spoken
from saga_flow.management.wedge import Wedge
from saga_flow.store import dialect, pressure
from saga_flow.store.pressure import Pressure

LOOK = 2.0


class Command(BaseCommand):
    """Run a cluster, say how it fares, and end when it no longer works."""

    help = (
        "Run django-q2's qcluster with a status line. Ends with exit code 1 when the "
        "cluster has died or takes up no due work, so that a supervisor restarts it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--reload",
            action="store_true",
            help="restart when a source file changes; for development",
        )
        parser.add_argument(
            "--stuck-after",
            type=float,
            default=120,
            metavar="SECONDS",
            help="how long due work may wait while nothing moves (default: 120)",
        )
        parser.add_argument(
            "--grace",
            type=float,
            default=120,
            metavar="SECONDS",
            help="how long jobs may take to finish at the end (default: 120)",
        )
        parser.add_argument("--json", action="store_true", help="status as JSON lines")

    def handle(self, **options: Any) -> None:
        """Run until told to stop, or until the cluster fails."""
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        self._json, self._said = options["json"], ""
        self._reload, self._times = options["reload"], source_times()
        self._grace = options["grace"]
        wedge = Wedge(patience=options["stuck_after"])
        self._cluster = ChildCluster()
        try:
            while not stop.wait(LOOK):
                self._look(wedge)
        finally:
            self._cluster.stop(self._grace)

    def _look(self, wedge: Wedge) -> None:
        if self._cluster.ended is not None:
            raise CommandError(
                f"the cluster ended by itself, with exit code {self._cluster.ended}"
            )
        if self._reload:
            self._restart_if_changed()
        now = self._pressure()
        if now is None:
            return
        self._say(now)
        if wedge.seen(now, clock.monotonic()):
            # Asking it to stop would wait for the very processes that are stuck.
            self._cluster.kill()
            raise CommandError(
                f"the cluster is stuck: work is due, {now.live} workers beat, and none "
                f"has taken any up for {spoken(timedelta(seconds=wedge.patience))}"
            )

    def _pressure(self) -> Pressure | None:
        try:
            return pressure.read()
        except DatabaseError as error:
            dialect.connection().close()
            self.stderr.write(f"The database can't be asked: {error}")
            return None

    def _restart_if_changed(self) -> None:
        times = source_times()
        changed = sorted(
            name for name, at in times.items() if self._times.get(name, at) != at
        )
        self._times = times
        if changed:
            self.stderr.write(f"{changed[0]} changed: restarting the cluster")
            self._cluster.stop(self._grace)
            self._cluster = ChildCluster()

    def _say(self, now: Pressure) -> None:
        waits = 0 if now.due_since is None else _seconds(now.now - now.due_since)
        # In steps of ten, or a backlog would print a line at every look.
        waits -= waits % 10
        if self._json:
            line = json.dumps(
                {"live": now.live, "busy": now.busy, "oldest_due_seconds": waits}
            )
        else:
            line = f"{now.live} workers, {now.busy} busy"
            if waits:
                line += f"; due work has waited {spoken(timedelta(seconds=waits))}"
        if line != self._said:
            self._said = line
            self.stdout.write(line)


def _seconds(span: timedelta) -> int:
    return max(0, int(span.total_seconds()))

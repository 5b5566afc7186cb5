"""What it costs to take up a run with a long history again."""

from __future__ import annotations

from typing import Final

from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.measuring import Figure, milliseconds
from benchmarks.setting import Setting
from benchmarks.workflows import Recalled
from saga_flow import client
from saga_flow.models import ActionRun
from saga_flow.store.history import load

STEPS: Final = 1_000


def replay(setting: Setting) -> list[Figure]:
    """A pass over 1,000 recorded steps, beside the driver reading their rows."""
    handle = Recalled.using().run_sync(STEPS)

    def drive() -> float:
        handle.signal("again")
        return milliseconds(lambda: client.drive(handle.run_id))

    with CaptureQueriesContext(connection) as queries:
        load(handle.run_id)
    sql, parameters = ActionRun.objects.filter(
        run_id=handle.run_id
    ).query.sql_with_params()
    text = sql.replace("%s", "?") if setting.db == "sqlite" else sql
    key = tuple(getattr(each, "hex", each) for each in parameters)
    return setting.beside(
        f"replay of {STEPS:,} steps ({len(queries)} queries to load)",
        drive,
        {"reading the rows": lambda: milliseconds(lambda: setting.raw.read(text, key))},
        unit="ms",
        goals={"reading the rows": "≤ 50 ms, ≤ 8 queries"},
    )

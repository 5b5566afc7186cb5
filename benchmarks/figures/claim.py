"""What it costs to take up one of many waiting runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db import connection

from benchmarks.measuring import Figure, Sample, milliseconds
from benchmarks.setting import Setting
from benchmarks.workflows import Steps
from saga_flow.ids import uuid7
from saga_flow.models import FlowRun
from saga_flow.store import claims, wake, workers

WAITING: Final = 50_000
_BATCH: Final = 1_000
_EACH: Final = 10


def claim(setting: Setting) -> list[Figure]:
    """One claim, and one look for due work, with 50,000 runs that wait for theirs."""
    owner = workers.ensure()
    few = _claims(
        owner,
        [Steps.using().start(1).run_id for _ in range(_EACH * (setting.rounds + 1))],
    )
    few()  # the first finds everything cold
    alone = sorted(few() for _ in range(setting.rounds))[setting.rounds // 2]
    many = _claims(owner, _crowd(_EACH * setting.rounds))
    raw = setting.raw
    beside: dict[str, Sample] = {
        "one raw commit": lambda: milliseconds(raw.commit),
        "a claim with few waiting": lambda: alone,
    }
    return [
        *setting.beside(
            f"claim, {WAITING:,} waiting",
            many,
            beside,
            unit="ms",
            goals={"one raw commit": "≤ 5 ms"},
        ),
        *setting.beside(
            f"look for 10 due runs, {WAITING:,} waiting",
            lambda: milliseconds(lambda: wake.due_runs(10)),
            {"one raw commit": lambda: milliseconds(raw.commit)},
            unit="ms",
        ),
    ]


def _claims(owner: object, runs: list[object]) -> Sample:
    """Claims some of *runs* each time, and says how long one took."""
    left: Iterator[object] = iter(runs)

    def sample() -> float:
        def some() -> None:
            for _ in range(_EACH):
                assert claims.claim_pass(next(left), owner) is not None  # type: ignore[arg-type]

        return milliseconds(some) / _EACH

    return sample


def _crowd(wanted: int) -> list[object]:
    """Copy a started run 50,000 times; the ids of *wanted* among the copies."""
    first = FlowRun.objects.get(pk=Steps.using().start(1).run_id)
    columns = {f.attname: getattr(first, f.attname) for f in FlowRun._meta.fields}
    ids = [uuid7() for _ in range(WAITING)]
    for begin in range(0, WAITING, _BATCH):
        FlowRun.objects.bulk_create(
            FlowRun(**{**columns, "id": id, "instance_id": f"crowd-{id}"})
            for id in ids[begin : begin + _BATCH]
        )
    with connection.cursor() as cursor:
        analyze = "ANALYZE TABLE" if connection.vendor == "mysql" else "ANALYZE"
        cursor.execute(f"{analyze} {FlowRun._meta.db_table}")
        cursor.fetchall() if connection.vendor == "mysql" else None
    return list(ids[:: WAITING // wanted][:wanted])

"""Each check fires on a bad setting, names it, and is silent on the presets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import CheckMessage

from saga_flow import checks, conf, presets
from saga_flow.checks import catalogue, server
from saga_flow.checks.catalogue import PROBLEMS, Problem
from saga_flow.checks.server import Server
from saga_flow.checks.snapshot import Database, Snapshot

SQLITE = Database(vendor="sqlite", options=presets.sqlite_options())
POSTGRESQL = Database(vendor="postgresql", conn_max_age=None, conn_health_checks=True)
MARIADB = replace(POSTGRESQL, vendor="mysql", isolation="read committed")

Case = tuple[Problem, dict[str, Any], str]


def snapshot(**seen: Any) -> Snapshot:
    """Good settings on SQLite, but for what is *seen*."""
    given: dict[str, Any] = {
        "conf": conf.Settings(),
        "q_cluster": presets.q_cluster(),
        "databases": {"default": SQLITE},
        "django_q_version": "1.11",
    }
    return Snapshot(**{**given, **seen})


def database(base: Database, **changes: Any) -> dict[str, Any]:
    """What is seen where the engine's database is *base* with *changes*."""
    return {"databases": {"default": replace(base, **changes)}}


def sqlite(**changes: Any) -> dict[str, Any]:
    """What is seen where these SQLite options differ; None leaves one out."""
    options = {**presets.sqlite_options(), **changes}
    kept = {name: value for name, value in options.items() if value is not None}
    return database(SQLITE, options=kept)


def cluster(**changes: Any) -> dict[str, Any]:
    """What is seen where these options of django-q2 differ from the preset."""
    return {"q_cluster": {**presets.q_cluster(), **changes}}


def without(name: str) -> dict[str, Any]:
    """What is seen where django-q2's own default of this option counts."""
    options = presets.q_cluster()
    del options[name]
    return {"q_cluster": options}


def ids(found: list[CheckMessage]) -> list[str]:
    return [str(message.id) for message in found]


def numbered(cases: Sequence[tuple[Problem, object, str]]) -> list[str]:
    return [f"{problem.number}, {words}" for problem, _, words in cases]


REDIS = presets.q_cluster(redis={"host": "127.0.0.1"})

BAD: list[Case] = [
    (catalogue.NAIVE_TIMES, {"use_tz": False}, "USE_TZ is False"),
    (
        catalogue.NO_DATABASE,
        {"conf": conf.Settings(DATABASE="engine"), **cluster(orm="default")},
        r"SAGA_FLOW\['DATABASE'\] is 'engine'; DATABASES has default",
    ),
    (
        catalogue.OTHER_VENDOR,
        database(Database(vendor="oracle")),
        r"DATABASES\['default'\]\['ENGINE'\] is of the kind 'oracle'",
    ),
    (catalogue.OLD_SERVER, {"sqlite_version": (3, 34, 1)}, r"SQLite is 3\.34\.1"),
    (
        catalogue.ISOLATION,
        database(POSTGRESQL, isolation="serializable"),
        r"\['isolation_level'\] is SERIALIZABLE",
    ),
    (
        catalogue.ISOLATION,
        database(MARIADB, isolation="repeatable read"),
        r"\['isolation_level'\] is REPEATABLE READ",
    ),
    (catalogue.LATE_LOCK, sqlite(transaction_mode=None), r"is None; legal are"),
    (catalogue.LATE_LOCK, sqlite(transaction_mode="DEFERRED"), r"is 'DEFERRED'"),
    (catalogue.NO_DJANGO_Q, {"installed": False}, "INSTALLED_APPS has no 'django_q'"),
    (catalogue.OLD_DJANGO_Q, {"django_q_version": "1.10.2"}, r"is 1\.10\.2; 1\.11"),
    (catalogue.OLD_DJANGO_Q, {"django_q_version": ""}, "django-q2 is not installed"),
    (catalogue.NO_BROKER_DATABASE, cluster(orm="queue"), r"\['orm'\] is 'queue'"),
    *(
        (catalogue.NOT_A_COUNT, cluster(**{name: value}), rf"\['{name}'\] is {value!r}")
        for name in ("workers", "queue_limit", "bulk", "retry")
        for value in (-1, "4", 1.5, True)
    ),
    (catalogue.NO_TIMEOUT, without("timeout"), "is None; it must be a whole number"),
    *(
        (catalogue.NO_TIMEOUT, cluster(timeout=value), rf"\['timeout'\] is {value!r}")
        for value in (None, 120.0, "120", 0, True)
    ),
    *(
        (catalogue.GUARD_CYCLE, cluster(guard_cycle=value), rf"is {value!r}; legal are")
        for value in (0.4, 2, 0, True, None)
    ),
    (catalogue.SYNC, cluster(sync=True), r"Q_CLUSTER\['sync'\] is on"),
    (catalogue.SHORT_RETRY, cluster(retry=369), r"is 369; .* at least 370"),
    (catalogue.SHORT_RETRY, without("retry"), r"is 60; .* at least 370"),
    (
        catalogue.LONG_SLICE,
        {"conf": conf.Settings(SLICE=timedelta(seconds=116))},
        r"is 120; with SAGA_FLOW\['SLICE'\] of 116 s .* at least 121",
    ),
    (
        catalogue.LONG_STEP,
        {"timeouts": {"shop.ship": timedelta(seconds=106)}},
        r"shop.ship has a timeout of 106 s; .* leaves it 105",
    ),
    (
        catalogue.POOL,
        {**database(POSTGRESQL, options={"pool": True}), "is_cluster": True},
        r"\['OPTIONS'\]\['pool'\] is set",
    ),
    (catalogue.BAD_CODEC, {"codec_problem": "it forgets"}, "it forgets"),
    (catalogue.BAD_HOOK, {"tenancy_problem": "is gone"}, "is gone"),
    (catalogue.NOT_ROUTED, {"routed_to": "replica"}, "tables to 'replica'"),
    (
        catalogue.ATOMIC_REQUESTS,
        database(SQLITE, atomic_requests=True),
        r"DATABASES\['default'\]\['ATOMIC_REQUESTS'\] is True",
    ),
    (catalogue.NO_WAL, sqlite(init_command=None), r"init_command'\] is ''"),
    (
        catalogue.NO_WAL,
        sqlite(init_command="PRAGMA journal_mode=WALRUS"),
        "does not set PRAGMA journal_mode=WAL",
    ),
    (catalogue.IMPATIENT, sqlite(timeout=19), "is 19; 20 is the least"),
    (catalogue.IMPATIENT, sqlite(timeout=None), "is 5; 20 is the least"),
    (
        catalogue.SHORT_CONNECTIONS,
        database(POSTGRESQL, conn_max_age=0),
        r"\['CONN_MAX_AGE'\] is 0",
    ),
    (
        catalogue.NO_HEALTH_CHECKS,
        database(MARIADB, conn_health_checks=False),
        r"\['CONN_HEALTH_CHECKS'\] is False, and CONN_MAX_AGE is None",
    ),
    (
        catalogue.LONG_QUEUE,
        cluster(queue_limit=5, retry=1000),
        "is 5, with 4 workers",
    ),
    (catalogue.LARGE_BULK, cluster(bulk=5, retry=1000), "is 5, with 4 w"),
    (catalogue.AT_MOST_ONCE, {"q_cluster": REDIS}, "uses the Redis broker"),
    (
        catalogue.OTHER_BROKER_DATABASE,
        {
            "databases": {"default": SQLITE, "queue": SQLITE},
            **cluster(orm="queue"),
        },
        r"\['orm'\] is 'queue', and SAGA_FLOW\['DATABASE'\] 'default'",
    ),
    (catalogue.ENDLESS, cluster(max_attempts=0), r"\['max_attempts'\] is 0"),
    (catalogue.ENDLESS, without("max_attempts"), "Q_CLUSTER.*max_attempts"),
    (catalogue.UNACKNOWLEDGED, cluster(ack_failures=False), r"'ack_failures'\] is off"),
    (catalogue.UNACKNOWLEDGED, without("ack_failures"), "Q_CLUSTER.*ack_failures"),
    (catalogue.CATCH_UP, cluster(catch_up=True), r"\['catch_up'\] is on"),
    (catalogue.CATCH_UP, without("catch_up"), "Q_CLUSTER.*catch_up"),
    (catalogue.KEPT_SUCCESSES, cluster(save_limit=0), r"\['save_limit'\] is 0"),
    (catalogue.KEPT_SUCCESSES, without("save_limit"), r"\['save_limit'\] is 250"),
    (
        catalogue.UNKNOWN_CLUSTER,
        {"cluster_name": "reports"},
        "Q_CLUSTER_NAME is 'reports' .* knows saga_flow",
    ),
    (
        catalogue.UNSERVED_QUEUE,
        {"queues": {"workflow shop.Report": "reports"}},
        "workflow shop.Report names the queue 'reports'; .* serve saga_flow",
    ),
    (
        catalogue.POOL_ELSEWHERE,
        database(POSTGRESQL, options={"pool": True}, conn_max_age=0),
        r"\['OPTIONS'\]\['pool'\] is set",
    ),
]

SAID: list[tuple[Problem, Server, str]] = [
    (
        catalogue.OTHER_VENDOR,
        Server(alias="default", kind="MySQL", version=(8, 4, 0)),
        "The database 'default' is MySQL; legal are",
    ),
    (
        catalogue.OLD_SERVER,
        Server(alias="default", kind="PostgreSQL", version=(12, 9)),
        r"is PostgreSQL 12\.9; 13\.0 is the least",
    ),
    (
        catalogue.OLD_SERVER,
        Server(alias="default", kind="MariaDB", version=(10, 5, 28)),
        r"is MariaDB 10\.5; 10\.6 is the least",
    ),
    (
        catalogue.ISOLATION,
        Server(alias="default", kind="MariaDB", version=(10, 11), isolation="x y"),
        "runs transactions at X Y; legal is READ COMMITTED",
    ),
    (
        catalogue.NO_WAL,
        Server(alias="default", kind="SQLite", journal_mode="delete"),
        "answers that its journal_mode is 'delete'",
    ),
]


@pytest.mark.parametrize(("problem", "seen", "words"), BAD, ids=numbered(BAD))
def test_a_bad_setting_is_reported_by_name_and_alone(
    problem: Problem, seen: dict[str, Any], words: str
) -> None:
    [message] = checks.judge(snapshot(**seen))

    assert message.id == problem.id
    assert re.search(words, message.msg), message.msg
    assert message.hint == problem.remedy
    assert message.is_serious() is (problem.level == "error")


@pytest.mark.parametrize(("problem", "said", "words"), SAID, ids=numbered(SAID))
def test_a_bad_answer_of_the_database_is_reported(
    problem: Problem, said: Server, words: str
) -> None:
    [message] = server.found(said)

    assert message.id == problem.id
    assert re.search(words, message.msg), message.msg


GOOD = {
    "sqlite": {},
    "postgresql": database(POSTGRESQL),
    "postgresql, isolation named": database(POSTGRESQL, isolation="read committed"),
    "mariadb": database(MARIADB),
    "connections of 60 seconds": database(MARIADB, conn_max_age=60),
    "sqlite, exclusive": sqlite(transaction_mode="exclusive"),
    "sqlite, pragma in another form": sqlite(
        init_command="pragma JOURNAL_MODE = 'wal'"
    ),
    "many workers": {"q_cluster": presets.q_cluster(workers=32)},
    "sync under test": {**cluster(sync=True), "under_test": True},
    "a step that just fits": {"timeouts": {"shop.ship": timedelta(seconds=105)}},
    "a slice that just fits": {"conf": conf.Settings(SLICE=timedelta(seconds=115))},
    "own name in the environment": {"cluster_name": "saga_flow"},
    "an alternative's name there": {
        **cluster(ALT_CLUSTERS={"reports": {}}),
        "cluster_name": "reports",
    },
    "a queue of an alternative": {
        **cluster(ALT_CLUSTERS={"reports": {}}),
        "queues": {"workflow shop.Report": "reports"},
    },
    "a queue of the cluster": {
        **cluster(cluster_name="sagas"),
        "queues": {"SAGA_FLOW['QUEUE']": "sagas"},
    },
    "an engine of its own, routed": {
        "conf": conf.Settings(DATABASE="engine"),
        "databases": {"default": Database(vendor="oracle"), "engine": SQLITE},
        "routed_to": "engine",
        **cluster(orm="engine"),
    },
}


@pytest.mark.parametrize("seen", GOOD.values(), ids=list(GOOD))
def test_good_settings_are_left_alone(seen: dict[str, Any]) -> None:
    assert checks.judge(snapshot(**seen)) == []


@pytest.mark.parametrize(
    "said",
    [
        Server(alias="default", kind="SQLite", journal_mode="wal"),
        Server(alias="default", kind="SQLite"),
        Server(
            alias="default",
            kind="PostgreSQL",
            version=(13, 0),
            isolation="read committed",
        ),
        Server(
            alias="default",
            kind="MariaDB",
            version=(10, 6, 1),
            isolation="read committed",
        ),
    ],
    ids=lambda said: f"{said.kind} {said.journal_mode}",
)
def test_good_answers_are_left_alone(said: Server) -> None:
    assert list(server.found(said)) == []


@pytest.mark.parametrize("executor", ["inline", "none"])
def test_django_q_is_not_judged_where_another_way_executes(executor: str) -> None:
    seen = snapshot(
        conf=conf.Settings(EXECUTOR=executor),
        q_cluster={},
        installed=False,
        django_q_version="",
        **database(POSTGRESQL, conn_max_age=0),
    )

    assert checks.judge(seen) == []


def test_a_project_without_q_cluster_hears_of_django_qs_defaults() -> None:
    found = checks.judge(snapshot(q_cluster={}))

    told = {message.id for message in found}
    assert told >= {
        catalogue.NO_TIMEOUT.id,
        catalogue.AT_MOST_ONCE.id,
        catalogue.ENDLESS.id,
        catalogue.UNACKNOWLEDGED.id,
        catalogue.CATCH_UP.id,
        catalogue.KEPT_SUCCESSES.id,
    }


def test_an_alternative_cluster_is_judged_with_its_own_options() -> None:
    seen = cluster(ALT_CLUSTERS={"reports": {"retry": 5}, "mails": {"workers": 4}})

    [message] = checks.judge(snapshot(**seen))

    assert message.id == catalogue.SHORT_RETRY.id
    assert "Q_CLUSTER['ALT_CLUSTERS']['reports']['retry'] is 5" in message.msg


def test_redis_never_hands_out_again_so_its_retry_is_not_judged() -> None:
    found = checks.judge(snapshot(q_cluster={**REDIS, "retry": 1}))

    assert ids(found) == [catalogue.AT_MOST_ONCE.id]


def test_every_check_is_shown_to_fire() -> None:
    """A problem without a case above would be one that nobody has seen reported."""
    elsewhere = {catalogue.BAD_OPTION.id, catalogue.NO_SCHEDULE.id}

    shown = {problem.id for problem, *_ in (*BAD, *SAID)}

    assert shown | elsewhere == {problem.id for problem in PROBLEMS}
    assert shown.isdisjoint(elsewhere)


def test_ids_are_unique_and_numbered_without_a_gap() -> None:
    numbers = [problem.number for problem in PROBLEMS]

    errors = [number for number in numbers if number.startswith("E")]
    warnings = [number for number in numbers if number.startswith("W")]
    assert errors == [f"E{count:03}" for count in range(1, len(errors) + 1)]
    assert warnings == [f"W{count:03}" for count in range(1, len(warnings) + 1)]
    assert numbers == [*errors, *warnings]

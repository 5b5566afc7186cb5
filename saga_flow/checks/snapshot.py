"""What the checks look at, read once: they judge this and nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import metadata
from multiprocessing import cpu_count
from sqlite3 import sqlite_version_info
from typing import Any, Final

from django.apps import apps
from django.conf import settings  # noqa: TID251 - options of Django and of django-q2
from django.core import mail
from django.db import connections, router

from saga_flow import conf, registry, tenancy
from saga_flow.serialization import sealing

_NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One entry of ``DATABASES``."""

    vendor: str
    """As Django's backend calls itself; MariaDB is called mysql here."""

    options: Mapping[str, Any] = field(default_factory=dict)
    isolation: str = ""
    """In words and lower case; empty: nothing is set, or nothing can be."""

    conn_max_age: float | None = 0
    conn_health_checks: bool = False
    atomic_requests: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The settings and surroundings of one process."""

    conf: conf.Settings
    q_cluster: Mapping[str, Any]
    databases: Mapping[str, Database]
    installed: bool = True
    """Whether django_q is an installed app."""

    django_q_version: str = ""
    """Of the distribution django-q2; empty where there is none."""

    use_tz: bool = True
    routed_to: str = "default"
    """Where Django's routers would have the engine's tables written."""

    queues: Mapping[str, str] = field(default_factory=dict)
    """Queues that are named, by whoever names them."""

    timeouts: Mapping[str, timedelta] = field(default_factory=dict)
    """What an action gives one attempt, by its name."""

    cluster_name: str = ""
    """The environment's ``Q_CLUSTER_NAME``."""

    codec_problem: str = ""
    """What the codec did wrong when it was tried; empty: nothing, or there is none."""

    tenancy_problem: str = ""
    """What is wrong with the tenancy hooks; empty: nothing, or there are none."""

    under_test: bool = False
    is_cluster: bool = False
    """Whether this process starts a cluster."""

    sqlite_version: tuple[int, ...] = (3, 35, 0)

    @property
    def database(self) -> Database | None:
        """The engine's own, or None where its alias is unknown."""
        return self.databases.get(self.conf.DATABASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One cluster's options, with django-q2's defaults for those that are not set."""

    label: str
    """How to find it in the settings."""

    options: Mapping[str, Any]

    @property
    def broker(self) -> str:
        """The option that decides on the broker; django-q2 looks in this order."""
        for name in ("broker_class", "iron_mq", "sqs", "orm", "mongo"):
            if self.options.get(name):
                return name
        return "redis"


def clusters(q_cluster: Mapping[str, Any]) -> tuple[Cluster, ...]:
    """The main cluster and each of ``ALT_CLUSTERS``, which changes some options."""
    found = [Cluster(label="Q_CLUSTER", options=_with_defaults(q_cluster))]
    for name, changes in alternatives(q_cluster).items():
        label = f"Q_CLUSTER['ALT_CLUSTERS'][{name!r}]"
        options = _with_defaults({**q_cluster, **_mapping(changes)})
        found.append(Cluster(label=label, options=options))
    return tuple(found)


def alternatives(q_cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    """``ALT_CLUSTERS``, by name."""
    return _mapping(q_cluster.get("ALT_CLUSTERS"))


def own_name(q_cluster: Mapping[str, Any]) -> str:
    """The queue that the main cluster serves."""
    return str(q_cluster.get("cluster_name", q_cluster.get("name", "default")))


def _with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    workers = options.get("workers") or cpu_count()
    defaults = {
        # django-q2's own default; a bad number of workers is reported as such
        "queue_limit": workers**2 if isinstance(workers, int) else 1,
        "bulk": 1,
        "retry": 60,
        "timeout": None,
        "guard_cycle": 0.5,
        "sync": False,
        "max_attempts": 0,
        "ack_failures": False,
        "save_limit": 250,
        "catch_up": True,
    }
    return {**defaults, **options, "workers": workers}


def take(options: conf.Settings) -> Snapshot:
    """Read the settings in force, without asking any database."""
    return Snapshot(
        conf=options,
        q_cluster=_mapping(getattr(settings, "Q_CLUSTER", None)),
        databases={alias: _database(alias) for alias in connections},
        installed=apps.is_installed("django_q"),
        django_q_version=_version("django-q2"),
        use_tz=settings.USE_TZ,
        routed_to=router.db_for_write(apps.get_model("saga_flow", "FlowRun")),
        queues=_queues(options),
        timeouts={
            each.name: each.rule.timeout
            for each in registry.actions()
            if each.rule.timeout is not None
        },
        cluster_name=os.environ.get("Q_CLUSTER_NAME", ""),
        codec_problem=sealing.problem(),
        tenancy_problem=tenancy.problem(),
        # Django puts an outbox there while its test environment is set up
        under_test=hasattr(mail, "outbox"),
        is_cluster=sys.argv[1:2] in (["qcluster"], ["saga_cluster"]),
        sqlite_version=sqlite_version_info,
    )


def _database(alias: str) -> Database:
    described = connections.settings[alias]
    options = _mapping(described.get("OPTIONS"))
    vendor = connections[alias].vendor
    return Database(
        vendor=vendor,
        options=options,
        isolation=isolation(vendor, options),
        conn_max_age=described.get("CONN_MAX_AGE", 0),
        conn_health_checks=bool(described.get("CONN_HEALTH_CHECKS")),
        atomic_requests=bool(described.get("ATOMIC_REQUESTS")),
    )


def isolation(vendor: str, options: Mapping[str, Any]) -> str:
    """The level that ``OPTIONS`` ask for, in words; empty: the server decides."""
    if vendor == "postgresql":
        return _postgresql_isolation(options)
    if vendor == "mysql":
        # Django's default is what the engine needs; None leaves it to the server
        return str(options.get("isolation_level", "read committed") or "").lower()
    return ""


def _postgresql_isolation(options: Mapping[str, Any]) -> str:
    from django.db.backends.postgresql.psycopg_any import (  # noqa: PLC0415 - its driver may be absent
        IsolationLevel,
    )

    level = options.get("isolation_level")
    if level is None:
        return ""
    try:
        # a number means another level with psycopg 2 than with 3
        return IsolationLevel(level).name.replace("_", " ").lower()
    except ValueError:
        return str(level)


def _queues(options: conf.Settings) -> dict[str, str]:
    named = {
        f"workflow {each.name}": each.queue
        for each in registry.workflows()
        if each.queue
    }
    named |= {
        f"action {each.name}": each.rule.queue
        for each in registry.actions()
        if each.rule.queue
    }
    if options.QUEUE:
        named["SAGA_FLOW['QUEUE']"] = options.QUEUE
    return named


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else _NOTHING

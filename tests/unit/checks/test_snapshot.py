"""What the checks are given to look at."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.core import mail
from django.db import connections
from django.test import override_settings
from psycopg import IsolationLevel

from saga_flow import conf, presets
from saga_flow.checks import snapshot
from saga_flow.checks.snapshot import Cluster, clusters


def test_this_projects_settings_are_read() -> None:
    seen = snapshot.take(conf.get())

    assert seen.database is not None
    assert seen.database.vendor == connections["default"].vendor
    assert seen.q_cluster == presets.q_cluster(workers=2)
    assert (seen.installed, seen.use_tz, seen.routed_to) == (True, True, "default")
    assert seen.under_test
    assert not seen.is_cluster


def test_outside_of_a_test_environment_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(mail, "outbox")

    assert not snapshot.take(conf.get()).under_test


@pytest.mark.parametrize("command", ["qcluster", "saga_cluster"])
def test_a_cluster_is_known_by_its_command(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["manage.py", command, "--run-once"])

    assert snapshot.take(conf.get()).is_cluster


def test_the_environment_names_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Q_CLUSTER_NAME", "reports")

    assert snapshot.take(conf.get()).cluster_name == "reports"


def test_a_queue_that_the_settings_name_is_seen() -> None:
    options = conf.Settings(QUEUE="sagas")

    assert snapshot.take(options).queues["SAGA_FLOW['QUEUE']"] == "sagas"


@pytest.mark.parametrize("value", [None, [], "fast"], ids=repr)
def test_a_q_cluster_that_is_none_has_no_options(value: Any) -> None:
    with override_settings(Q_CLUSTER=value):
        assert snapshot.take(conf.get()).q_cluster == {}


@pytest.mark.parametrize(
    ("vendor", "options", "words"),
    [
        ("sqlite", {}, ""),
        ("postgresql", {}, ""),
        (
            "postgresql",
            {"isolation_level": IsolationLevel.SERIALIZABLE},
            "serializable",
        ),
        ("postgresql", {"isolation_level": 2}, "read committed"),
        ("postgresql", {"isolation_level": 99}, "99"),
        ("mysql", {}, "read committed"),
        ("mysql", {"isolation_level": "Repeatable Read"}, "repeatable read"),
        ("mysql", {"isolation_level": None}, ""),
    ],
    ids=str,
)
def test_an_isolation_level_is_read_as_words(
    vendor: str, options: dict[str, Any], words: str
) -> None:
    assert snapshot.isolation(vendor, options) == words


def test_django_qs_defaults_count_where_nothing_is_set() -> None:
    [cluster] = clusters({"workers": 3})

    assert cluster.options["queue_limit"] == 9
    assert cluster.options["retry"] == 60
    assert cluster.broker == "redis"


@pytest.mark.parametrize(
    ("options", "broker"),
    [
        ({"orm": "default", "redis": {"host": "x"}}, "orm"),
        ({"orm": "default", "sqs": {"aws_region": "x"}}, "sqs"),
        ({"orm": "default", "broker_class": "a.B"}, "broker_class"),
        ({"redis": {"host": "x"}}, "redis"),
        ({}, "redis"),
    ],
    ids=str,
)
def test_the_broker_is_the_one_that_django_q_takes(
    options: dict[str, Any], broker: str
) -> None:
    assert Cluster(label="Q_CLUSTER", options=options).broker == broker

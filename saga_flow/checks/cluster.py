"""The settings of django-q2: ``Q_CLUSTER``, and each cluster of ``ALT_CLUSTERS``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from django.core.checks import CheckMessage

from saga_flow import presets
from saga_flow.checks import catalogue
from saga_flow.checks.snapshot import (
    Cluster,
    Snapshot,
    alternatives,
    clusters,
    own_name,
)

Found = Iterator[CheckMessage]

_LEAST_DJANGO_Q: Final = (1, 11)
_COUNTS: Final = ("workers", "queue_limit", "bulk", "retry")
_MARGIN_SECONDS: Final = 5
"""What is left to a pass for its last commit before its job is stopped."""


def found(seen: Snapshot) -> Found:
    """Judge django-q2 and all its clusters; silent where another way executes."""
    if seen.conf.EXECUTOR != "django_q":
        return
    yield from _installed(seen)
    yield from _name(seen)
    yield from _queues(seen)
    for cluster in clusters(seen.q_cluster):
        for rule in RULES:
            yield from rule(seen, cluster)


def _installed(seen: Snapshot) -> Found:
    if not seen.installed:
        yield catalogue.NO_DJANGO_Q.found(
            "SAGA_FLOW['EXECUTOR'] is 'django_q', and INSTALLED_APPS has no 'django_q'."
        )
    version = tuple(int(part) for part in re.findall(r"\d+", seen.django_q_version)[:2])
    if version < _LEAST_DJANGO_Q:
        shown = seen.django_q_version or "not installed"
        yield catalogue.OLD_DJANGO_Q.found(f"django-q2 is {shown}; 1.11 is the least.")


def _served(seen: Snapshot) -> list[str]:
    return [own_name(seen.q_cluster), *alternatives(seen.q_cluster)]


def _name(seen: Snapshot) -> Found:
    known = {str(seen.q_cluster.get("name")), *_served(seen)}
    if seen.cluster_name and seen.cluster_name not in known:
        yield catalogue.UNKNOWN_CLUSTER.found(
            f"Q_CLUSTER_NAME is {seen.cluster_name!r} in the environment; Q_CLUSTER "
            f"knows {', '.join(_served(seen))}."
        )


def _queues(seen: Snapshot) -> Found:
    served = _served(seen)
    for who, queue in seen.queues.items():
        if queue not in served:
            yield catalogue.UNSERVED_QUEUE.found(
                f"{who} names the queue {queue!r}; the clusters of Q_CLUSTER serve "
                f"{', '.join(served)}."
            )


def broker(seen: Snapshot, cluster: Cluster) -> Found:
    """Where jobs wait, and what becomes of one whose worker dies."""
    if cluster.broker == "redis":
        yield catalogue.AT_MOST_ONCE.found(f"{cluster.label} uses the Redis broker.")
    if cluster.broker != "orm":
        return
    alias, own = cluster.options["orm"], seen.conf.DATABASE
    if alias not in seen.databases:
        known = ", ".join(sorted(seen.databases))
        yield catalogue.NO_BROKER_DATABASE.found(
            f"{cluster.label}['orm'] is {alias!r}; DATABASES has {known}."
        )
    elif alias != own and own in seen.databases:
        yield catalogue.OTHER_BROKER_DATABASE.found(
            f"{cluster.label}['orm'] is {alias!r}, and SAGA_FLOW['DATABASE'] {own!r}."
        )


def counts(_: Snapshot, cluster: Cluster) -> Found:
    """Each count is one."""
    for name in _COUNTS:
        if not _is_count(cluster, name):
            yield catalogue.NOT_A_COUNT.found(
                f"{cluster.label}[{name!r}] is {cluster.options[name]!r}; it must be "
                "a whole number of at least 1."
            )


def timeout(seen: Snapshot, cluster: Cluster) -> Found:
    """A job is stopped some time, and not while its pass may still go on."""
    limit = cluster.options["timeout"]
    least = seen.conf.SLICE.total_seconds() + _MARGIN_SECONDS
    if not _is_count(cluster, "timeout"):
        yield catalogue.NO_TIMEOUT.found(
            f"{cluster.label}['timeout'] is {limit!r}; it must be a whole number of "
            "seconds, at least 1."
        )
    elif limit < least:
        yield catalogue.LONG_SLICE.found(
            f"{cluster.label}['timeout'] is {limit}; with SAGA_FLOW['SLICE'] of "
            f"{seen.conf.SLICE.total_seconds():g} s it must be at least {least:g}."
        )


def step_timeouts(seen: Snapshot, cluster: Cluster) -> Found:
    """A step meets its own limit before its job is stopped for it."""
    limit = cluster.options["timeout"]
    if not _is_count(cluster, "timeout"):
        return  # reported for what it is
    left = limit - seen.conf.SLICE.total_seconds() - _MARGIN_SECONDS
    for name, given in sorted(seen.timeouts.items()):
        if given.total_seconds() > left:
            yield catalogue.LONG_STEP.found(
                f"The action {name} has a timeout of {given.total_seconds():g} s; with "
                f"SAGA_FLOW['SLICE'] of {seen.conf.SLICE.total_seconds():g} s, "
                f"{cluster.label}['timeout'] is {limit} and leaves it {left:g}."
            )


def retry(_: Snapshot, cluster: Cluster) -> Found:
    """No message is handed out again while it waits or is being worked on."""
    if cluster.broker == "redis":
        return  # it never hands a message out again
    if not all(_is_count(cluster, name) for name in (*_COUNTS, "timeout")):
        return  # reported for what it is
    least = presets.least_retry(dict(cluster.options))
    if cluster.options["retry"] < least:
        yield catalogue.SHORT_RETRY.found(
            f"{cluster.label}['retry'] is {cluster.options['retry']}; with its "
            f"timeout, workers, queue_limit and bulk it must be at least {least}."
        )


def guard_cycle(_: Snapshot, cluster: Cluster) -> Found:
    """The guard's countdown must meet zero."""
    cycle = cluster.options["guard_cycle"]
    if isinstance(cycle, bool) or cycle not in presets.GUARD_CYCLES:
        legal = ", ".join(str(each) for each in presets.GUARD_CYCLES)
        yield catalogue.GUARD_CYCLE.found(
            f"{cluster.label}['guard_cycle'] is {cycle!r}; legal are {legal}."
        )


def sync(seen: Snapshot, cluster: Cluster) -> Found:
    """Jobs run in workers."""
    if cluster.options["sync"] and not seen.under_test:
        yield catalogue.SYNC.found(f"{cluster.label}['sync'] is on.")


def prefetching(_: Snapshot, cluster: Cluster) -> Found:
    """No more is fetched than can be worked on."""
    if not all(_is_count(cluster, name) for name in _COUNTS):
        return
    workers = cluster.options["workers"]
    for name, problem in (
        ("queue_limit", catalogue.LONG_QUEUE),
        ("bulk", catalogue.LARGE_BULK),
    ):
        if cluster.options[name] > workers:
            yield problem.found(
                f"{cluster.label}[{name!r}] is {cluster.options[name]}, with "
                f"{workers} workers."
            )


def repetition(_: Snapshot, cluster: Cluster) -> Found:
    """What failed or was missed does not come back for ever, or all at once."""
    if not cluster.options["max_attempts"]:
        yield catalogue.ENDLESS.found(f"{cluster.label}['max_attempts'] is 0.")
    if not cluster.options["ack_failures"]:
        yield catalogue.UNACKNOWLEDGED.found(f"{cluster.label}['ack_failures'] is off.")
    if cluster.options["catch_up"]:
        yield catalogue.CATCH_UP.found(f"{cluster.label}['catch_up'] is on.")


def saving(_: Snapshot, cluster: Cluster) -> Found:
    """Successes leave no row."""
    limit = cluster.options["save_limit"]
    if not isinstance(limit, int) or limit >= 0:
        yield catalogue.KEPT_SUCCESSES.found(
            f"{cluster.label}['save_limit'] is {limit!r}."
        )


def _is_count(cluster: Cluster, name: str) -> bool:
    value = cluster.options[name]
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


RULES: Final[tuple[Callable[[Snapshot, Cluster], Found], ...]] = (
    broker,
    counts,
    timeout,
    step_timeouts,
    retry,
    guard_cycle,
    sync,
    prefetching,
    repetition,
    saving,
)

"""
Jobs on a django-q2 cluster.

A job carries the kind of work and an id, nothing else. With the ORM broker on the
engine's own database the job's row is written in the same transaction as the state
that it is about; with any other broker it follows the commit, and a broker that is
away then costs latency only.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import Any, Final

from django.conf import settings  # noqa: TID251 - another app's options
from django.db import transaction

from saga_flow import clock, conf
from saga_flow.records import Wake, Wanted
from saga_flow.store import dialect
from saga_flow.store.transaction import atomic

logger = logging.getLogger(__name__)

FUNCTIONS: Final = {
    Wanted.DRIVE: "saga_flow.jobs.drive",
    Wanted.PERFORM: "saga_flow.jobs.perform",
    Wanted.UNDO: "saga_flow.jobs.undo",
}

_brokers: dict[tuple[int, str], Any] = {}


def wake(wake: Wake) -> None:
    """Enqueue a job for *wake*; what is due only later is left to the pulse."""
    if wake.not_before is not None and wake.not_before > clock.now():
        return
    if shares_transaction():
        # Outside of an atomic block django-q2 may close this very connection.
        with atomic():
            _enqueue(wake)
    else:
        transaction.on_commit(
            partial(_after_commit, wake), using=dialect.alias(), robust=True
        )


def shares_transaction() -> bool:
    """Whether jobs are rows of the engine's own database."""
    from django_q.brokers.orm import ORM  # noqa: PLC0415 - reads settings
    from django_q.conf import Conf  # noqa: PLC0415 - reads settings

    return isinstance(_broker(""), ORM) and dialect.alias() == Conf.ORM


def own_queue() -> str:
    """The queue that clusters started from this process's environment serve."""
    from django_q.conf import Conf  # noqa: PLC0415 - reads settings

    return str(Conf.CLUSTER_NAME)


def _after_commit(wake: Wake) -> None:
    try:
        _enqueue(wake)
    # Each broker has an error tree of its own. The state is committed; the sweep
    # finds what was not enqueued.
    except Exception:
        logger.exception(
            "No job for %s %s: the broker refused it. The sweeps will find it.",
            wake.kind.value,
            wake.id,
        )


def _enqueue(wake: Wake) -> None:
    from django_q.tasks import async_task  # noqa: PLC0415 - reads settings

    queue = _queue_of(wake)
    options: dict[str, Any] = {
        "save": False,
        "ack_failure": True,
        "broker": _broker(queue),
    }
    if queue:
        options["cluster"] = queue
    async_task(FUNCTIONS[wake.kind], wake.id, q_options=options)


def _queue_of(wake: Wake) -> str:
    """The queue to name, or empty where it is this process's own anyway."""
    from django_q.conf import Conf  # noqa: PLC0415 - reads settings

    # A worker of another queue must not keep what belongs to the default one.
    queue = wake.queue or conf.get().QUEUE or default_queue()
    return "" if queue == Conf.CLUSTER_NAME else queue


def default_queue() -> str:
    """The queue of a run that names none, whatever queue this process serves."""
    # django-q2's own Conf won't do: an environment variable overwrites it there.
    options = getattr(settings, "Q_CLUSTER", {})
    return str(options.get("cluster_name", options.get("name", "default")))


def _broker(queue: str) -> Any:
    """django-q2's broker for *queue*, made once in each process: some connect."""
    from django_q.brokers import get_broker  # noqa: PLC0415 - reads settings

    key = (os.getpid(), queue)
    if key not in _brokers:
        _brokers[key] = get_broker(queue or None)
    return _brokers[key]

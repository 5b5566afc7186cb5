"""
django-q2's brokers as the tests use them, and its own machinery in this process.

A job is really put into the broker and taken out again, signed, unpacked, executed and
acknowledged by the functions that a cluster's processes run; only the processes and
the waiting are left out.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Value
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.monitor import monitor
from django_q.pusher import pusher
from django_q.worker import worker

from saga_flow.executors import django_q
from tests.support.services import Environment

NO_TIME_LIMIT = None
"""django-q2 would keep one by SIGALRM, which the tests' own limit needs."""


@contextmanager
def orm() -> Iterator[Any]:
    """The broker whose jobs are rows of the engine's own database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(django_q, "_brokers", {})
        yield get_broker()


@contextmanager
def redis(server: Environment) -> Iterator[Any]:
    """A queue of this block's own on a Redis *server*: jobs are handed out once."""
    name = f"test-{os.getpid()}-{uuid.uuid4().hex}"
    options: dict[str, Any] = {
        "ORM": None,
        "REDIS": {"host": server["REDIS_HOST"], "port": int(server["REDIS_PORT"])},
        "CLUSTER_NAME": name,
        "PREFIX": name,  # what jobs are signed with
    }
    with (
        override_settings(Q_CLUSTER={**settings.Q_CLUSTER, "name": name}),
        pytest.MonkeyPatch.context() as patch,
    ):
        for option, value in options.items():
            patch.setattr(Conf, option, value)
        patch.setattr(django_q, "_brokers", {})
        broker = get_broker()
        try:
            yield broker
        finally:
            broker.delete_queue()
            broker.connection.close()


def work_off(broker: Any) -> int:
    """Do what a cluster would do until *broker* is empty; return how many jobs."""
    count = 0
    while broker.queue_size():
        count += work_off_a_round(broker)
    return count


def work_off_a_round(broker: Any) -> int:
    """Do the jobs that the broker hands out at one go, if any; return how many."""
    if not broker.queue_size():
        # django-q2 would wait for one
        return 0
    fetched: SimpleQueue[Any] = SimpleQueue()
    done: SimpleQueue[Any] = SimpleQueue()
    ended = Event()
    ended.set()
    pusher(fetched, ended, broker)
    count = fetched.qsize()
    fetched.put("STOP")
    worker(fetched, done, Value("f", -1), NO_TIME_LIMIT)
    done.put("STOP")
    monitor(done, broker)
    return count


def environment_of(server: Environment) -> Environment:
    """By which a cluster's settings find the queue of :func:`redis`."""
    return {**server, "SAGA_TEST_REDIS_QUEUE": Conf.CLUSTER_NAME}


def lose(broker: Any) -> int:
    """Take every job out and drop it, as a worker does that dies; return how many."""
    count = broker.queue_size()
    broker.purge_queue()
    return int(count)

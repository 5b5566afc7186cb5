"""Starts the pulse in django-q2's worker processes, and nowhere else."""

from __future__ import annotations

import logging
import multiprocessing
from multiprocessing.util import Finalize
from typing import Any, Final

from django.apps import apps

from saga_flow import conf
from saga_flow.executors import django_q
from saga_flow.pulse.beating import note_permanent
from saga_flow.pulse.heart import Heart
from saga_flow.pulse.thread import PulseThread

logger = logging.getLogger(__name__)

_PRIORITY: Final = 100
"""Before multiprocessing's own finalisers, which close its queues."""


def connect() -> None:
    """Have each worker process that django-q2 spawns beat; once, at start-up."""
    if conf.get().EXECUTOR != "django_q" or not apps.is_installed("django_q"):
        return
    from django_q.signals import post_spawn  # noqa: PLC0415 - optional app

    post_spawn.connect(on_spawn, dispatch_uid="saga_flow.pulse")


def on_spawn(**_: Any) -> None:
    """
    Start beating, if this is a worker process.

    Swallows everything: an error here would end the worker, and the next one, and
    so on for ever.
    """
    try:
        if multiprocessing.parent_process() is not None:
            _start()
    except Exception:
        logger.exception("The pulse did not start; this worker will be found silent")


def _start() -> None:
    heart = Heart(queue=django_q.own_queue(), leads=conf.get().SWEEPS)
    thread = PulseThread(heart)
    thread.start()
    note_permanent()
    Finalize(None, _end, args=(thread, heart), exitpriority=_PRIORITY)


def _end(thread: PulseThread, heart: Heart) -> None:
    try:
        thread.stop()
        heart.stop()
    except Exception:
        logger.exception("This worker did not sign off; it will be found silent")

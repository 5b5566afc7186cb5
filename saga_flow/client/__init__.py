"""
The write door: one function for each command, for every caller.

Python handles, management commands, the console, the admin and HTTP all come
through here, and each request leaves a command row. A rejection is an answer, never
an exception; :func:`raise_for` turns it into one for callers who want that.
"""

from saga_flow.client.answers import raise_for
from saga_flow.client.commanding import (
    archive,
    cancel,
    compensate,
    interrupt,
    repair,
    resume,
    signal,
    terminate,
)
from saga_flow.client.driving import drive, refuse_inside, uncommitted
from saga_flow.client.starting import release, start

__all__ = [
    "archive",
    "cancel",
    "compensate",
    "drive",
    "interrupt",
    "raise_for",
    "refuse_inside",
    "release",
    "repair",
    "resume",
    "signal",
    "start",
    "terminate",
    "uncommitted",
]

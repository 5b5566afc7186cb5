"""
Catches database queries that ``handle()`` makes itself (docs/authoring.md).

``handle()`` is replayed, so a query in it may be answered otherwise the next time, and
the code then asks for other steps than are recorded. Queries of steps, of side effects
and of the engine are none of its own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from django.core import mail
from django.db import connections

from saga_flow import conf
from saga_flow.engine.staying import Stay
from saga_flow.exceptions import QueryInHandle

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("saga_flow.engine")

_told: set[str] = set()
"""Lines that this process has warned of; each is told once, not at every replay."""

_SILENT: Final = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")
_PACKAGE: Final = str(Path(__file__).resolve().parents[1])


class Watch:
    """Knows whether the code that runs is ``handle()``'s own."""

    def __init__(self, workflow_name: str) -> None:
        self.workflow_name = workflow_name
        self.inside_the_engine = 0
        policy = conf.get().HANDLE_QUERIES
        # Django keeps an outbox while its test environment is set up
        self.policy = policy or ("error" if hasattr(mail, "outbox") else "warn")

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,  # noqa: FBT001 - Django's signature
        context: Any,
    ) -> Any:
        if not self.inside_the_engine and not str(sql).startswith(_SILENT):
            self._object(str(sql))
        return execute(sql, params, many, context)

    def _object(self, sql: str) -> None:
        line = _line()
        told = (
            f"handle() of {self.workflow_name} queries the database itself, at "
            f"{line}: {sql[:80]!r}. handle() is replayed, and the answer may be "
            "another by then. Put the query into an action, or into "
            "self.side_effect(), whose values are recorded."
        )
        if self.policy == "error":
            raise QueryInHandle(told)
        if line not in _told:
            _told.add(line)
            logger.warning(told)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch every connection of this thread while the block runs."""
        if self.policy == "allow":
            yield
            return
        with ExitStack() as stack:
            for connection in connections.all():
                stack.enter_context(connection.execute_wrapper(self))
            yield


def _line() -> str:
    """Where the author's code stands: the nearest frame that is no library's."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the usual way to a frame
    while frame is not None:
        name = frame.f_code.co_filename
        if "site-packages" not in name and not name.startswith(_PACKAGE):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown line"


class Watched(Protocol):
    """Whatever an engine call belongs to."""

    watch: Watch
    stay: Stay


W = TypeVar("W", bound=Watched)


def engine_call(
    method: Callable[Concatenate[W, P], R],
) -> Callable[Concatenate[W, P], R]:
    """What *method* does is the engine's, not ``handle()``'s own."""

    @wraps(method)
    def called(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.watch.inside_the_engine += 1
        try:
            with self.stay.outside():
                return method(self, *args, **kwargs)
        finally:
            self.watch.inside_the_engine -= 1

    return called

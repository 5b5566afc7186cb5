"""The circumstances of a command: who asks, why, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, TypedDict

from saga_flow.authoring.members import duration
from saga_flow.authoring.metadata import text
from saga_flow.exceptions import DefinitionError, UnknownOption
from saga_flow.names import MAX_NAME, line, suggestion
from saga_flow.records import Principal, Request
from saga_flow.serialization import bounded

MAX_REASON_BYTES: Final = 512
_LONGEST_ID: Final = 191


class CommandOptions(TypedDict, total=False):
    """What ``handle.using(...)`` takes."""

    reason: str
    """At most 512 bytes are kept."""

    principal: object
    """Who asks: a user, a text or a Principal."""

    expected_revision: int
    """The command is rejected if the run is at another revision."""

    idempotency_key: str
    """Asking again under the same key gets the first answer."""

    timeout: timedelta
    """How long ``wait()`` and ``result()`` wait, unless they are told otherwise."""


_OPTIONS: Final = frozenset(CommandOptions.__annotations__)


def request(options: CommandOptions) -> Request:
    """Return the options as a command takes them. Raises UnknownOption, …"""
    check_options(options, _OPTIONS, "using()")
    if "timeout" in options:
        duration(options["timeout"], what="using(timeout=...)")
    return Request(
        principal=principal(options.get("principal")),
        reason=bounded(
            text(options.get("reason", ""), what="using(reason=...)"), MAX_REASON_BYTES
        ),
        expected_revision=_revision(options.get("expected_revision")),
        idempotency_key=idempotency_key(options.get("idempotency_key")),
    )


def principal(value: Any) -> Principal:
    """Return who asks as plain text; a user object is not kept."""
    if value is None:
        return Principal()
    if isinstance(value, Principal):
        return value
    if isinstance(value, str):
        return Principal(label=value[:_LONGEST_ID])
    if not hasattr(value, "is_authenticated"):
        raise DefinitionError(
            f"principal={value!r} is of type {type(value).__name__}; it takes a user, "
            "a str or a saga_flow Principal."
        )
    if not value.is_authenticated:
        return Principal(type="anonymous", label="anonymous")
    return Principal(type="user", id=str(value.pk), label=str(value)[:_LONGEST_ID])


def idempotency_key(value: object) -> str | None:
    """Return the key if it is a printable text of 1 to 191 characters."""
    if value is None:
        return None
    key = line(value, what="idempotency_key", limit=MAX_NAME)
    if not key:
        raise DefinitionError("idempotency_key is empty; leave it out instead.")
    return key


def check_options(options: Iterable[str], known: frozenset[str], what: str) -> None:
    """Raise UnknownOption for one of *options* that is not *known*."""
    for key in sorted(set(options) - known):
        raise UnknownOption(
            f"{what} has no option {key!r}.{suggestion(key, sorted(known))}"
        )


def _revision(value: object) -> int | None:
    if value is None or (type(value) is int and value >= 1):
        return value
    raise DefinitionError(
        f"expected_revision={value!r} is no revision; take it from handle.revision."
    )

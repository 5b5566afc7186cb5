"""Exceptions as data: text to be stored and shown, never pickled."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization import text as json_text
from saga_flow.serialization.bounded import bounded, bounded_tail

MAX_MESSAGE_BYTES: Final = 2_000
MAX_TRACEBACK_BYTES: Final = 16 * 1024
"""The end is kept: that is where it was raised."""
MAX_CAUSES: Final = 5
_MAX_NAME_BYTES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is known of an exception once it has been stored."""

    type: str
    """The class's name, e.g. ``CardDeclined``."""
    qualified_name: str
    """With its module, e.g. ``shop.errors.CardDeclined``."""
    message: str
    traceback: str = ""
    causes: tuple[Failure, ...] = ()
    """What led to it, nearest first; none of them has causes of its own."""
    attempt: int | None = None
    """Which try of a step it ended, counted from 1."""
    non_retryable: bool = False
    """Whether it ended the tries by what it is, however many were left."""

    def to_json(self) -> str:
        """Return it as text to be stored."""
        node = asdict(self)
        for each in (node, *node["causes"]):
            if not each["non_retryable"]:
                del each["non_retryable"]
        return json_text.to_json(node)

    @classmethod
    def from_json(cls, text: str, *, what: str = "failure") -> Failure:
        """Read back what `to_json` wrote; raises PayloadNotDecodable."""
        node = json_text.tree_of(text, what=what)
        try:
            return _failure(node)
        except (TypeError, ValueError, AttributeError) as error:
            raise PayloadNotDecodable(
                f"{what} is not a stored failure: {error}. The row was changed by "
                "hand, or a newer release wrote it."
            ) from error


def failure_of(
    error: BaseException,
    *,
    attempt: int | None = None,
    hide: Callable[[str], str] = str,
) -> Failure:
    """
    Describe *error* and at most five of its causes; never raises.

    *hide* is given each text before it is cut, so that no half of a secret is left.
    """
    causes = tuple(_described(cause, hide) for cause in _causes(error))
    return replace(_described(error, hide), causes=causes, attempt=attempt)


def _described(error: BaseException, hide: Callable[[str], str]) -> Failure:
    kind = type(error)
    name = bounded(f"{kind.__module__}.{kind.__qualname__}", _MAX_NAME_BYTES)
    return Failure(
        type=bounded(kind.__name__, _MAX_NAME_BYTES),
        qualified_name=name,
        message=bounded(hide(_message(error)), MAX_MESSAGE_BYTES),
        traceback=bounded_tail(hide(_traceback(error)), MAX_TRACEBACK_BYTES),
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - __str__ is anybody's code
        return f"<its __str__ raised {type(second).__name__}>"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error, chain=False))
    except Exception:  # noqa: BLE001 - so are __str__ and __repr__ of what it shows
        return "".join(traceback.format_tb(error.__traceback__))


def _causes(error: BaseException) -> Iterator[BaseException]:
    # A chain may close on itself, since __cause__ can be set to anything.
    seen = {id(error)}
    cause = _cause(error)
    while cause is not None and id(cause) not in seen and len(seen) <= MAX_CAUSES:
        yield cause
        seen.add(id(cause))
        cause = _cause(cause)


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _failure(node: Any) -> Failure:
    causes = tuple(_failure(cause) for cause in node.pop("causes", ()))
    failure = Failure(**node, causes=causes)
    texts = (failure.type, failure.qualified_name, failure.message, failure.traceback)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("its parts are not all strings")
    return failure

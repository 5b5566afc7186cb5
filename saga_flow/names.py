"""What the names that people give may look like; the same rule on every door."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from saga_flow.exceptions import InvalidName, WrongArguments

MAX_NAME: Final = 191
MAX_TAG_KEY: Final = 64
MAX_QUEUE: Final = 100
MAX_VERSION: Final = 64
MAX_TENANT: Final = 64

_LEGAL: Final = re.compile(r"[A-Za-z0-9._:-]+")
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def identifier(value: object, *, what: str, limit: int = MAX_NAME) -> str:
    """
    Return *value* if it is 1 to *limit* of letters, digits and ``. _ : -``.

    Durable names, instance ids, queues and tag keys follow this rule: they are
    compared byte by byte, and stand in addresses and commands. Raises InvalidName.
    """
    text = _text(value, what, limit)
    if not text:
        raise InvalidName(f"{what} is empty; it takes 1 to {limit} characters.")
    if _LEGAL.fullmatch(text) is None:
        wrong = next(each for each in text if _LEGAL.fullmatch(each) is None)
        raise InvalidName(
            f"{what} is {text!r}, which holds {wrong!r}; legal are ASCII letters, "
            "digits and . _ : -"
        )
    return text


def line(value: object, *, what: str, limit: int = MAX_NAME) -> str:
    """Return *value* if it is a printable text of at most *limit* characters."""
    text = _text(value, what, limit)
    found = _UNPRINTABLE.search(text)
    if found is not None:
        raise InvalidName(
            f"{what} is {text!r}, which holds the unprintable {found[0]!r}; leave that "
            "out."
        )
    return text


def tags(value: object, *, what: str = "tags") -> dict[str, str]:
    """Return *value* as tags: keys are identifiers, values lines of text."""
    return {
        key: line(text, what=f"{what}[{key!r}]") for key, text in _keyed(value, what)
    }


def changed_tags(value: object, *, what: str = "tags") -> dict[str, str | None]:
    """Return *value* as changes of tags: a value of None takes a tag away."""
    return {
        key: None if text is None else line(text, what=f"{what}[{key!r}]")
        for key, text in _keyed(value, what)
    }


def _keyed(value: object, what: str) -> Iterator[tuple[str, object]]:
    if not isinstance(value, Mapping):
        raise WrongArguments(
            f"{what} is of type {type(value).__name__}; it takes a dict such as "
            '{"channel": "web"}.'
        )
    for key, text in value.items():
        yield identifier(key, what=f"a key of {what}", limit=MAX_TAG_KEY), text


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest of *known*, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _text(value: object, what: str, limit: int) -> str:
    if not isinstance(value, str):
        raise InvalidName(
            f"{what} is {value!r}, of type {type(value).__name__}; it takes a str."
        )
    if len(value) > limit:
        raise InvalidName(
            f"{what} has {len(value)} characters ({value[:20]!r}...); "
            f"the limit is {limit}."
        )
    return value

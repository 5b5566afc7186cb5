"""
Objects with a meaning of their own inside stored JSON, and how paths are written.

A stored object with the key ``$model`` or ``$result`` is a marker. A key of the
author's own that begins with ``$`` is stored with one more, so that no value can be
mistaken for a marker, whoever sent it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MODEL: Final = "$model"
RESULT: Final = "$result"


def escaped(key: str) -> str:
    """Return *key* as it is stored."""
    return "$" + key if key.startswith("$") else key


def unescaped(key: str) -> str:
    """Return the author's key of a stored one."""
    return key[1:] if key.startswith("$$") else key


def is_marker(node: dict[str, object]) -> bool:
    """Tell whether a stored object stands for something else."""
    return MODEL in node or RESULT in node


def segment(key: str | int) -> str:
    """Return one part of a path: ``.name``, ``[3]`` or ``['two words']``."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{key!r}]"


def path(root: str, inner_first: Iterable[str]) -> str:
    """Join the segments that were collected while an error travelled outwards."""
    return root + "".join(reversed(list(inner_first)))

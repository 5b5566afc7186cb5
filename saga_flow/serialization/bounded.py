"""Text cut to a number of bytes, fit for a plain text column on every database."""

from __future__ import annotations

import re
from typing import Final

# PostgreSQL stores neither NUL nor half a surrogate pair in a text column.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def bounded(text: str, limit: int) -> str:
    """
    Return the longest beginning of *text* that takes at most *limit* bytes.

    Counted in UTF-8 and cut between characters, never inside one. NUL and lone
    surrogates, which no text column can hold, become U+FFFD.
    """
    raw = _storable(text[: max(limit, 0)]).encode()
    return raw[: max(limit, 0)].decode(errors="ignore")


def bounded_tail(text: str, limit: int) -> str:
    """Return the longest end of *text* that takes at most *limit* bytes."""
    if limit <= 0:
        return ""
    raw = _storable(text[-limit:]).encode()
    return raw[-limit:].decode(errors="ignore")


def _storable(text: str) -> str:
    return _UNSTORABLE.sub(_REPLACEMENT, text)

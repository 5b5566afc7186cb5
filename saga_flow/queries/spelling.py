"""What somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(given: str, legal: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?``, with the space, or nothing if none is near."""
    near = difflib.get_close_matches(given, list(legal), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""

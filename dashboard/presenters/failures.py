"""A stored error as a headline, a traceback and its causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong, in parts that a page shows or folds."""

    type: str
    message: str
    traceback: str
    causes: tuple[str, ...]
    category: str

    @property
    def headline(self) -> str:
        """One line: what it was and what it said."""
        return f"{self.type}: {self.message}" if self.message else self.type


def trouble(error: Mapping[str, Any] | None) -> Trouble | None:
    """Read an error as it was stored; whatever a newer engine adds is left out."""
    if error is None:
        return None
    causes = error.get("causes") or ()
    return Trouble(
        type=str(error.get("type") or "Error"),
        message=str(error.get("message") or ""),
        traceback=str(error.get("traceback") or ""),
        causes=tuple(
            f"{cause.get('type', 'Error')}: {cause.get('message', '')}"
            for cause in causes
            if isinstance(cause, Mapping)
        ),
        category=str(error.get("category") or ""),
    )

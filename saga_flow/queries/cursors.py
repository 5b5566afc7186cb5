"""Where a page ended: signed, opaque, and good for one filter only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.signing import BadSignature, Signer

from saga_flow.exceptions import InvalidCursor

_SALT: Final = "saga_flow.queries.cursors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last run of a page, by the two columns that lists are ordered by."""

    sort_at: datetime
    id: UUID


def encode(position: Position, fingerprint: str) -> str:
    """Return the cursor after *position* of the list with this filter."""
    parts = [position.sort_at.isoformat(), position.id.hex, fingerprint]
    return Signer(salt=_SALT).sign_object(parts)


def decode(cursor: str, fingerprint: str) -> Position:
    """Read a cursor back. Raises InvalidCursor: forged, cut, or of another filter."""
    try:
        sort_at, run_id, made_for = Signer(salt=_SALT).unsign_object(cursor)
        position = Position(sort_at=datetime.fromisoformat(sort_at), id=UUID(run_id))
    except (BadSignature, ValueError, TypeError):
        raise InvalidCursor(
            "This cursor was not made here, or was cut on its way. Start again from "
            "the first page."
        ) from None
    if made_for != fingerprint:
        raise InvalidCursor(
            "This cursor belongs to a list with another filter. Start again from the "
            "first page."
        )
    return position

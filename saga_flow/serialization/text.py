"""JSON text, and the tree that it is of."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization.sealing import unseal


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# ensure_ascii keeps NUL and lone surrogates storable, and makes one character one
# byte. Nesting is bounded before it comes here, so circles need no second check.
_ENCODER: Final = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":")
)
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def to_json(node: object) -> str:
    """Return compact JSON; ValueError for what JSON does not have."""
    return _ENCODER.encode(node)


def tree_of(stored: str, *, what: str = "payload") -> Any:
    """
    Return what is *stored* as a JSON tree, markers and escaped keys as they are.

    For showing: it never loads a row. Raises PayloadNotDecodable.
    """
    return from_json(unseal(stored, what=what), what=what)


def from_json(text: str, *, what: str) -> Any:
    """Return the JSON tree of *text*."""
    try:
        return _DECODER.decode(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise PayloadNotDecodable(
            f"{what} is not JSON: {error}. The row was changed by hand, or the codec "
            "gave back something else than it was given."
        ) from error

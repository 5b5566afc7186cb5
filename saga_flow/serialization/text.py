"""JSON text, and the one place where a codec may wrap it before it is stored."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, Protocol

from saga_flow.exceptions import PayloadNotDecodable


class Codec(Protocol):
    """What may stand between JSON and the table: encryption at rest, compression."""

    def encode_text(self, text: str) -> str:
        """Wrap JSON *text* (ASCII) for storing."""
        ...

    def decode_text(self, text: str) -> str:
        """Return the JSON text that `encode_text` wrapped."""
        ...


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# ensure_ascii keeps NUL and lone surrogates storable, and makes one character one
# byte. Nesting is bounded before it comes here, so circles need no second check.
_ENCODER: Final = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":")
)
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


class _Installed:
    codec: Codec | None = None


def install(codec: Codec | None) -> None:
    """
    Send every payload through *codec* from now on; ``None`` stores plain JSON.

    Rows written before stay as they are: a codec that is put into use later must
    recognise and pass on text that it has not wrapped.
    """
    _Installed.codec = codec


def to_json(node: object) -> str:
    """Return compact JSON; ValueError for what JSON does not have."""
    return _ENCODER.encode(node)


def store(text: str) -> str:
    """Return JSON *text* as it is stored."""
    codec = _Installed.codec
    return text if codec is None else codec.encode_text(text)


def unwrap(stored: str, *, what: str) -> str:
    """Return the JSON text of what was *stored*."""
    codec = _Installed.codec
    if codec is None:
        return stored
    try:
        return codec.decode_text(stored)
    except Exception as error:  # a codec is the project's code and may raise anything
        raise PayloadNotDecodable(
            f"{what} can't be unwrapped by {type(codec).__qualname__}: "
            f"{type(error).__name__}: {error}. It must read whatever it or no codec "
            "has written."
        ) from error


def tree_of(stored: str, *, what: str = "payload") -> Any:
    """
    Return what is *stored* as a JSON tree, markers and escaped keys as they are.

    For showing: it never loads a row. Raises PayloadNotDecodable.
    """
    return from_json(unwrap(stored, what=what), what=what)


def from_json(text: str, *, what: str) -> Any:
    """Return the JSON tree of *text*."""
    try:
        return _DECODER.decode(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise PayloadNotDecodable(
            f"{what} is not JSON: {error}. The row was changed by hand, or another "
            "codec wrote it."
        ) from error

"""
The one place where a codec of the host's stands between JSON and the tables.

A payload is sealed on its way into a row and opened where it is read. Sealed text
begins with a mark that no JSON begins with, so that rows written before there was a
codec stay readable, and what is sealed already is never sealed twice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Protocol

from django.utils.module_loading import import_string

from saga_flow import conf
from saga_flow.exceptions import CodecFailed, CodecRefused

MARK: Final = "~"
_SEALED: Final = "~:"
_PLAIN: Final = "~="
_PROBE: Final = '{"probe":["\\u00e4\\u0000",1e16,-0.0]}'


class Codec(Protocol):
    """What ``SAGA_FLOW["CODEC"]`` names: encryption at rest, compression."""

    def encode_text(self, text: str) -> str:
        """Return JSON *text*, which is ASCII, as it is to be stored."""
        ...

    def decode_text(self, text: str) -> str:
        """Return the JSON text that ``encode_text`` was given."""
        ...


@lru_cache(maxsize=8)
def _made(path: str) -> Codec:
    made: Codec = import_string(path)()
    return made


def in_use() -> bool:
    """Whether payloads are sealed at all."""
    return bool(conf.get().CODEC)


def seal(text: str) -> str:
    """
    Return JSON *text* as it is stored.

    Raises CodecRefused, which is a DatabaseError: what can't be sealed can't be
    written, and whoever writes goes on as after any write that failed.
    """
    path = conf.get().CODEC
    if not path or text.startswith(MARK):
        return text
    try:
        return _SEALED + _storable(_made(path).encode_text(text))
    except Exception as error:  # a codec is the host's code and may raise anything
        raise CodecRefused(
            f"SAGA_FLOW['CODEC'] {path!r} can't seal a payload: "
            f"{type(error).__name__}: {error}. Nothing was written."
        ) from error


def unseal(stored: str, *, what: str) -> str:
    """Return the JSON text of what was *stored*; raises CodecFailed."""
    if not stored.startswith(MARK):
        return stored
    if stored.startswith(_PLAIN):
        return stored.removeprefix(_PLAIN)
    path = conf.get().CODEC
    if not path:
        raise CodecFailed(
            f"{what} can't be read: it is sealed, and SAGA_FLOW['CODEC'] is not set in "
            "this process. Set it to the codec that wrote it."
        )
    try:
        return _made(path).decode_text(stored.removeprefix(_SEALED))
    except Exception as error:  # a codec is the host's code and may raise anything
        raise CodecFailed(
            f"{what} can't be opened by SAGA_FLOW['CODEC'] {path!r}: "
            f"{type(error).__name__}: {error}. Deploy a codec that reads all that was "
            "written, with older keys too."
        ) from error


def left_open(text: str) -> str:
    """Return JSON *text* of the engine's own so that it is stored as it is."""
    return _PLAIN + text if in_use() else text


def problem() -> str:
    """What is wrong with the codec in the settings; empty if it gives text back."""
    try:
        back = unseal(seal(_PROBE), what="A probe")
    except (CodecRefused, CodecFailed) as error:
        return str(error)
    if back != _PROBE:
        return (
            f"SAGA_FLOW['CODEC'] {conf.get().CODEC!r} gives {back!r} back for {_PROBE}."
        )
    return ""


def _storable(sealed: object) -> str:
    if not isinstance(sealed, str):
        raise TypeError(f"encode_text returned {type(sealed).__name__}, not str")
    if "\x00" in sealed:
        raise ValueError("encode_text returned a NUL, which no text column holds")
    sealed.encode()  # half a surrogate pair is refused by every database
    return sealed

"""Codecs that a reader can check by eye, by the paths that settings name."""

from __future__ import annotations

import base64


class Hexed:
    """Hides a payload from whoever looks for its letters."""

    def encode_text(self, text: str) -> str:
        return text.encode().hex()

    def decode_text(self, text: str) -> str:
        return bytes.fromhex(text).decode()


class OtherKey:
    """Opens nothing that others have sealed."""

    def encode_text(self, text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    def decode_text(self, text: str) -> str:  # noqa: ARG002 - the codec's shape
        raise KeyError("no such key")


class Forgetful:
    """Gives back something else than it was given."""

    def encode_text(self, text: str) -> str:
        return text

    def decode_text(self, text: str) -> str:  # noqa: ARG002 - the codec's shape
        return "null"


class Choosy(Hexed):
    """Can't seal what holds this word."""

    def encode_text(self, text: str) -> str:
        if "indigestible" in text:
            raise ValueError("not this")
        return super().encode_text(text)


class Nul:
    """Returns what no text column holds."""

    def encode_text(self, text: str) -> str:  # noqa: ARG002 - the codec's shape
        return "\x00"

    def decode_text(self, text: str) -> str:
        return text


HEXED, OTHER_KEY = f"{__name__}.Hexed", f"{__name__}.OtherKey"
FORGETFUL, CHOOSY, NUL = (
    f"{__name__}.{each.__name__}" for each in (Forgetful, Choosy, Nul)
)

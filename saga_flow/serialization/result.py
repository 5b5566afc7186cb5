"""RESULT: what stands in an undo's arguments for a result that is not there yet."""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn

_REMEDY: Final = (
    "RESULT is filled in when the undo is planned; until then it can only be passed "
    "on, whole or in part (RESULT['id'], RESULT[0]), as an argument of the undo."
)


class ResultReference:
    """
    A step's own result, or a part of it, before the step has run.

    Immutable. Items extend the path; anything that would need the value now raises.
    """

    __slots__ = ("path",)

    path: tuple[str | int, ...]

    # __getitem__ alone would make a reference iterable, and without an end.
    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    def __init__(self, *path: str | int) -> None:
        object.__setattr__(self, "path", path)

    def __getitem__(self, key: str | int) -> ResultReference:
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise TypeError(
                f"RESULT takes a str key or an int index, not {type(key).__name__}."
            )
        return ResultReference(*self.path, key)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{self!r} has no attribute {name!r}; a part of the result is written "
            f"{ResultReference(*self.path, name)!r}."
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} is immutable; {name!r} can't be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self!r} is immutable; {name!r} can't be deleted.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResultReference):
            return NotImplemented
        return self.path == other.path

    def __hash__(self) -> int:
        return hash((ResultReference, self.path))

    def __reduce__(self) -> tuple[type[ResultReference], tuple[str | int, ...]]:
        return ResultReference, self.path

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} is neither true nor false yet. {_REMEDY}")

    def __str__(self) -> str:
        raise TypeError(f"{self!r} has no text yet. {_REMEDY}")

    def __repr__(self) -> str:
        return "RESULT" + "".join(f"[{key!r}]" for key in self.path)


RESULT: Final[Any] = ResultReference()
"""The result of the step that an undo belongs to; fits every parameter."""

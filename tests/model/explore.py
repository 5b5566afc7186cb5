"""
Visits every state that a model can reach, and says which of them are wrong.

A model is its first state, a function from a state to the moves that it allows, and
one that names what is wrong with a state. It is stuck where work is left to do and no
move is possible any more that one may count on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)

Moves = Iterable[tuple[str, S]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Generic[S]):
    """What can happen, and what must not."""

    first: S
    moves: Callable[[S], Moves[S]]
    wrong: Callable[[S], Iterable[str]]
    unfinished: Callable[[S], bool]
    """Whether something that was accepted is still owed."""

    losses: frozenset[str] = frozenset()
    """Moves that nobody may count on: what only they lead on from is stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What a model can come to."""

    states: int
    defects: dict[str, tuple[str, ...]]
    """What is wrong, and the shortest way to it."""


def explore(model: Model[S]) -> Explored:
    """Visit every reachable state of *model*, nearest first."""
    came: dict[S, tuple[S, str] | None] = {model.first: None}
    ahead = deque([model.first])
    defects: dict[str, tuple[str, ...]] = {}
    while ahead:
        state = ahead.popleft()
        moves = list(model.moves(state))
        for defect in model.wrong(state):
            defects.setdefault(defect, _way(came, state))
        helpful = any(name not in model.losses for name, _ in moves)
        if not helpful and model.unfinished(state):
            defects.setdefault("stuck", _way(came, state))
        for name, after in moves:
            if after not in came:
                came[after] = (state, name)
                ahead.append(after)
    return Explored(states=len(came), defects=defects)


def _way(came: dict[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    names: list[str] = []
    while (before := came[state]) is not None:
        state, name = before
        names.append(name)
    return tuple(reversed(names))

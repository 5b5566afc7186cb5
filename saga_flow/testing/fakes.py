"""Standing in for bodies, and for the step around one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from saga_flow import registry
from saga_flow.authoring.action import Action
from saga_flow.current import StepContext, executing
from saga_flow.exceptions import DefinitionError
from saga_flow.ids import uuid7

_NOTHING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a body that was replaced."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class FakeAction:
    """What stands in for a body, and the calls that it got."""

    name: str
    calls: list[Call] = field(default_factory=list)
    """Each try is a call of its own."""


@contextmanager
def fake_action(
    f: Action[..., Any],
    *,
    returns: Any = _NOTHING,
    raises: BaseException | type[BaseException] | None = None,
    side_effect: Callable[..., Any] | Iterable[Any] | None = None,
) -> Iterator[FakeAction]:
    """
    Replace the body of *f* while the block lasts; yields what records its calls.

    The fake returns *returns* (None if nothing is given), raises *raises*, or does
    *side_effect*: a callable with the body's arguments, or one item a call, of which
    exceptions are raised and anything else is returned. The action keeps its name,
    signature and options; it works as a step and as an undo. A direct call of *f*
    still runs the real body. Raises DefinitionError for more than one of the three.
    """
    given = [returns is not _NOTHING, raises is not None, side_effect is not None]
    if sum(given) > 1:
        raise DefinitionError(
            f"fake_action({f.name}) takes one of returns=, raises= and side_effect=; "
            "a side_effect can do both."
        )
    fake = FakeAction(name=f.name)
    before = registry.action(f.name)
    answer = _answer(f.name, None if returns is _NOTHING else returns, side_effect)
    if raises is not None:
        answer = _raising(raises)
    during = replace(before, function=_body(before, fake, answer))
    _define(f, during)
    try:
        yield fake
    finally:
        _define(f, before)


@contextmanager
def step_context(
    *,
    run_id: UUID | None = None,
    instance_id: str = "test",
    sequence: int = 0,
    attempt: int = 1,
    deadline: datetime | None = None,
    cancel_requested: bool = False,
) -> Iterator[StepContext]:
    """
    Give a body that is called directly the step that ``current_step()`` returns.

    Yields that step; its idempotency key is ``"{run_id}:{sequence}"``.
    """
    run_id = run_id or uuid7()
    step = StepContext(
        run_id=run_id,
        instance_id=instance_id,
        sequence=sequence,
        attempt=attempt,
        idempotency_key=f"{run_id}:{sequence}",
        deadline=deadline,
        asks=lambda: cancel_requested,
    )
    with executing(step):
        yield step


def _body(
    before: registry.ActionDefinition, fake: FakeAction, answer: Callable[..., Any]
) -> Callable[..., Any]:
    """A function with the signature of the real one, of the same colour."""

    def called(*args: Any, **kwargs: Any) -> Any:
        fake.calls.append(Call(args=args, kwargs=kwargs))
        return answer(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        value = called(*args, **kwargs)
        return await value if inspect.isawaitable(value) else value

    return functools.wraps(before.function)(awaited if before.is_async else called)


def _answer(
    name: str, returns: Any, side_effect: Callable[..., Any] | Iterable[Any] | None
) -> Callable[..., Any]:
    if side_effect is None:
        return lambda *_args, **_kwargs: returns
    if callable(side_effect):
        return side_effect
    items = iter(side_effect)

    def take(*_args: Any, **_kwargs: Any) -> Any:
        for item in items:
            if isinstance(item, BaseException) or _is_error_class(item):
                raise item
            return item
        raise AssertionError(
            f"The fake of {name} was called more often than side_effect has items."
        )

    return take


def _raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise error

    return fail


def _is_error_class(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, BaseException)


def _define(f: Action[..., Any], definition: registry.ActionDefinition) -> None:
    registry.register_action(
        registry.Entry(
            module=f.function.__module__,
            qualname=f.function.__qualname__,
            name=definition.name,
            aliases=definition.aliases,
            build=lambda _name: definition,
        )
    )

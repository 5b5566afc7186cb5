"""``@action``: a function whose calls are recorded as steps."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import (
    Any,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from saga_flow import registry
from saga_flow.authoring.annotations import returned
from saga_flow.authoring.limits import check_limits, limits
from saga_flow.authoring.retry import Retry
from saga_flow.authoring.times import limit
from saga_flow.exceptions import DefinitionError, UnknownOption
from saga_flow.names import MAX_QUEUE, identifier, suggestion
from saga_flow.records import Dispatch, LostWorker, StepRule
from saga_flow.serialization import RESULT, encode, signature_of

P = ParamSpec("P")
R = TypeVar("R")

RETRY: Final = LostWorker.RETRY
FAIL: Final = LostWorker.FAIL
INLINE: Final = Dispatch.INLINE
QUEUE: Final = Dispatch.QUEUE


class ActionOptions(TypedDict, total=False):
    """What ``@action(...)`` and ``using(...)`` take (docs/authoring.md)."""

    name: str
    aliases: Sequence[str]
    retry: Retry
    lost_worker: LostWorker
    expires_in: timedelta | None
    dispatch: Dispatch
    queue: str
    atomic: bool
    timeout: timedelta | None
    heartbeat_timeout: timedelta | None
    optional: bool
    fallback: Any
    compensate: Action[..., Any]
    redact: Sequence[str]


_OPTIONS: Final = frozenset(ActionOptions.__annotations__)
_OF_THE_DEFINITION: Final = frozenset({"name", "aliases"})
_JOBS: Final = frozenset({"dispatch", "queue"})
_LEGAL: Final[Mapping[type[Any], str]] = {
    LostWorker: "RETRY or FAIL",
    Dispatch: "INLINE or QUEUE",
    bool: "True or False",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The options of an action, checked."""

    name: str = ""
    aliases: tuple[str, ...] = ()
    rule: StepRule = field(default_factory=StepRule)
    names_retry: bool = False
    names_deadline: bool = False
    optional: bool = False
    fallback: Any = None
    compensate: Action[..., Any] | None = None
    redact: tuple[str, ...] = ()
    redacts_result: bool = False


class Action(Generic[P, R]):
    """
    A function that a workflow can call as a step.

    The function stays an ordinary callable: calling it directly runs its body, and
    records nothing.
    """

    __name__: str

    def __init__(
        self, function: Callable[..., Any], declared: Declared, *, changed: bool = False
    ) -> None:
        self.function = function
        self.declared = declared
        self.changed = changed
        """Whether ``using()`` made it: an undo takes none such."""

        _check_atomic(function, declared)
        functools.update_wrapper(cast(Any, self), function)

    @property
    def name(self) -> str:
        """The durable name. Raises UnknownDefinition before the apps are loaded."""
        return self.declared.name or registry.action_name(
            self.function.__module__, self.function.__qualname__
        )

    def using(self, **options: Unpack[ActionOptions]) -> Self:
        """
        Return a copy with other options, for one call.

        Raises UnknownOption or DefinitionError for what it does not take.
        """
        fixed = sorted(_OF_THE_DEFINITION & options.keys())
        if fixed:
            raise UnknownOption(
                f"using({fixed[0]}=...) is not for one call: the name of an action is "
                "fixed where it is defined. Give it to @action(...)."
            )
        what = f"{self.function.__qualname__}.using"
        changed = _declared(options, self.declared, what)
        _check_redact(self.function, changed, what)
        return type(self)(self.function, changed, changed=True)

    def __repr__(self) -> str:
        return f"<action {self.function.__module__}.{self.function.__qualname__}>"


class SyncAction(Action[P, R]):
    """An action with a body of plain ``def``."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the body here and now, as an ordinary function."""
        return cast(R, self.function(*args, **kwargs))


class AsyncAction(Action[P, R]):
    """An action with a body of ``async def``."""

    async def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the body here and now, as an ordinary coroutine function."""
        return cast(R, await self.function(*args, **kwargs))


class _Decorator(Protocol):
    @overload
    def __call__(  # type: ignore[overload-overlap] # the first that fits is meant
        self, f: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncAction[P, R]: ...
    @overload
    def __call__(self, f: Callable[P, R], /) -> SyncAction[P, R]: ...


@overload
def action(  # type: ignore[overload-overlap] # the first that fits is meant
    f: Callable[P, Coroutine[Any, Any, R]], /
) -> AsyncAction[P, R]: ...
@overload
def action(f: Callable[P, R], /) -> SyncAction[P, R]: ...
@overload
def action(**options: Unpack[ActionOptions]) -> _Decorator: ...
def action(f: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """
    Make a function an action, bare or with options.

    Options are defaults of every call; ``using()`` changes them for one. Raises
    UnknownOption, InvalidName or DefinitionError, and DuplicateName when the name is
    taken.
    """
    declared = _declared(options, Declared(), "@action")
    if f is None:
        return lambda function: _made(function, declared)
    return _made(f, declared)


def _made(function: Any, declared: Declared) -> Action[..., Any]:
    _check_function(function)
    _check_redact(function, declared, f"@action of {function.__qualname__}")
    kind = AsyncAction if inspect.iscoroutinefunction(function) else SyncAction
    made: Action[..., Any] = kind(function, declared)
    registry.register_action(
        registry.Entry(
            module=function.__module__,
            qualname=function.__qualname__,
            name=declared.name,
            aliases=declared.aliases,
            build=made_definition(made),
        )
    )
    return made


def made_definition(
    made: Action[..., Any],
) -> Callable[[str], registry.ActionDefinition]:
    """Return what builds the definition once the durable name is known."""
    declared, function = made.declared, made.function

    def build(name: str) -> registry.ActionDefinition:
        undo = declared.compensate
        return registry.ActionDefinition(
            name=name,
            function=function,
            aliases=declared.aliases,
            rule=declared.rule,
            names_retry=declared.names_retry,
            optional=declared.optional,
            fallback=declared.fallback,
            compensate=None if undo is None else undo.name,
            result_annotation=returned(function, what=f"action {name}"),
            is_async=isinstance(made, AsyncAction),
        )

    return build


def check_undo(undo: object, *, what: str) -> None:
    """Raise DefinitionError unless *undo* can be found again by its name."""
    if not isinstance(undo, Action):
        given = getattr(undo, "__qualname__", None) or repr(undo)
        raise DefinitionError(
            f"{what} takes an action, not {given}: an undo may run days later in "
            "another process, which finds it by its durable name. Decorate a named "
            "function with @action."
        )
    if undo.changed:
        raise DefinitionError(
            f"{what} takes {undo.name} as it is defined, not a copy made by using(): "
            "only its name is stored. Give the options to its @action(...)."
        )


def _check_function(function: Any) -> None:
    if isinstance(function, Action):
        raise DefinitionError(f"{function!r} is an action already; decorate it once.")
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        raise DefinitionError(
            f"@action takes a function written with def or async def, not {function!r}:"
            " a step is found again by the name of its function."
        )
    owner = function.__qualname__.rpartition(".")[0]
    if owner and not owner.endswith("<locals>"):
        raise DefinitionError(
            f"@action can't take the method {function.__qualname__}: nothing is there "
            "to call it on when the step runs. Write it as a function of the module."
        )


def _check_atomic(function: Any, declared: Declared) -> None:
    if declared.rule.atomic and inspect.iscoroutinefunction(function):
        raise DefinitionError(
            f"atomic=True takes a function of plain def, and {function.__qualname__} "
            "is async: its queries go out on the connections of other threads, "
            "outside of the step's transaction. Write it with def."
        )


def _declared(options: Mapping[str, Any], base: Declared, what: str) -> Declared:
    _check_options(options, what)
    changes: dict[str, Any] = {
        key: options[key] for key in ("optional", "fallback") if key in options
    }
    if "name" in options:
        changes["name"] = identifier(options["name"], what=f"{what}(name=...)")
    if "aliases" in options:
        changes["aliases"] = _aliases(options["aliases"], what)
    if "compensate" in options:
        check_undo(options["compensate"], what=f"{what}(compensate=...)")
        changes["compensate"] = options["compensate"]
    if "redact" in options:
        changes |= _redact(options["redact"], what)
    if "retry" in options:
        changes["names_retry"] = True
    if "expires_in" in options:
        changes["names_deadline"] = True
    declared = replace(base, rule=_rule(options, base.rule, what), **changes)
    _check_fallback(options, declared, what)
    return declared


def _check_options(options: Mapping[str, Any], what: str) -> None:
    for key in options.keys() - _OPTIONS:
        raise UnknownOption(
            f"{what} has no option {key!r}.{suggestion(key, sorted(_OPTIONS))}"
        )


def _rule(options: Mapping[str, Any], base: StepRule, what: str) -> StepRule:
    changes: dict[str, Any] = limits(options, what)
    if "retry" in options:
        changes["retry"] = _instance(options, "retry", Retry, what).rule()
    if "lost_worker" in options:
        changes["lost_worker"] = _instance(options, "lost_worker", LostWorker, what)
    if "atomic" in options:
        changes["atomic"] = _instance(options, "atomic", bool, what)
    if "expires_in" in options:
        given = options["expires_in"]
        changes["expires_in"] = limit(given, what=f"{what}(expires_in=...)")
    rule = replace(base, **changes)
    check_limits(rule, what)
    return _dispatched(options, rule, what) if options.keys() & _JOBS else rule


def _dispatched(options: Mapping[str, Any], rule: StepRule, what: str) -> StepRule:
    """*rule* with who performs the step; who performs it inline drops its queue."""
    dispatch = rule.dispatch
    if "dispatch" in options:
        dispatch = _instance(options, "dispatch", Dispatch, what)
    if "queue" not in options:
        kept = rule.queue if dispatch is QUEUE else ""
        return replace(rule, dispatch=dispatch, queue=kept)
    queue = identifier(options["queue"], what=f"{what}(queue=...)", limit=MAX_QUEUE)
    if dispatch is not QUEUE:
        raise DefinitionError(
            f"{what}(queue={queue!r}) is where the job of a queued step goes, and this "
            "one is performed by the pass that reaches it; add dispatch=QUEUE, or "
            "leave queue out."
        )
    return replace(rule, dispatch=dispatch, queue=queue)


def _instance(options: Mapping[str, Any], key: str, kind: type[Any], what: str) -> Any:
    value = options[key]
    if not isinstance(value, kind):
        legal = _LEGAL.get(kind, f"a {kind.__name__}(...)")
        raise DefinitionError(f"{what}({key}={value!r}) takes {legal}.")
    return value


def _redact(value: object, what: str) -> dict[str, Any]:
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or not all(each is RESULT or isinstance(each, str) for each in value)
    ):
        raise DefinitionError(
            f"{what}(redact={value!r}) takes a list of argument names, such as "
            "['card'], and RESULT for what the action returns."
        )
    names = tuple(each for each in value if each is not RESULT)
    return {"redact": names, "redacts_result": len(names) < len(value)}


def _check_redact(function: Any, declared: Declared, what: str) -> None:
    known = list(signature_of(function).parameters)
    for name in declared.redact:
        if name not in known:
            raise DefinitionError(
                f"{what}: redact names {name!r}, which is no argument of "
                f"{function.__qualname__}; it has {', '.join(known) or 'none'}."
                f"{suggestion(name, known)}"
            )


def _aliases(value: object, what: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise DefinitionError(
            f"{what}(aliases={value!r}) takes a list of names, such as ['shop.old']."
        )
    return tuple(identifier(each, what=f"{what}(aliases=...)") for each in value)


def _check_fallback(options: Mapping[str, Any], declared: Declared, what: str) -> None:
    if not isinstance(declared.optional, bool):
        raise DefinitionError(f"{what}(optional={declared.optional!r}) takes a bool.")
    if "fallback" not in options:
        return
    if not declared.optional:
        raise DefinitionError(
            f"{what}(fallback=...) is the value of an optional step that gave up; add "
            "optional=True."
        )
    encode(declared.fallback, what=f"the fallback of {what}")

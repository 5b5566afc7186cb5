"""Members: what a workflow builds in ``handle()`` and ends in ``.run()``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar, cast, overload

from saga_flow import conf
from saga_flow.authoring.action import Action, check_undo
from saga_flow.authoring.annotations import result_of
from saga_flow.authoring.ports import Pass
from saga_flow.exceptions import DefinitionError
from saga_flow.records import (
    MemberCall,
    Redaction,
    StepCall,
    StepRule,
    UndoOrder,
    UndoPolicy,
)
from saga_flow.serialization import Arguments, bind, encode, encode_arguments
from saga_flow.serialization.redaction import Place, carried, places

Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")
Rc_co = TypeVar("Rc_co", covariant=True)

STOP: Final = UndoPolicy.STOP
CONTINUE: Final = UndoPolicy.CONTINUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a group says for those of its members that say nothing themselves."""

    policy: str = ""
    on_own_failure: bool | None = None
    block: int | None = None
    """The first ordinal of those that are undone as one level."""

    def fill(self, undo: UndoOrder) -> UndoOrder:
        """Return *undo* with what the group says where it says nothing itself."""
        own = undo.on_own_failure
        return replace(
            undo,
            policy=undo.policy or self.policy,
            on_own_failure=self.on_own_failure if own is None else own,
        )


class Member(Generic[Rc_co]):
    """One operation of a workflow, not yet performed."""

    def run(self) -> Rc_co:
        """Perform it, or hand back what was recorded of it."""
        raise NotImplementedError

    def call(self) -> MemberCall:
        """Return it as a member of a block, which takes it without ``.run()``."""
        raise DefinitionError(
            f"{type(self).__name__} can't stand side by side with others in a block."
        )

    def _check(self) -> None:
        """Raise DefinitionError for what can be seen to be wrong before it runs."""

    def _under(self, group: Shared) -> Member[Rc_co]:
        """Return it as a member of *group*; what has no undo stays as it is."""
        del group
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undo:
    """The call that undoes a step."""

    name: str
    arguments: str
    hidden: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What is known of a step so far."""

    action: Action[..., Any]
    arguments: str
    hidden: tuple[Place, ...]
    """Arguments that nobody is shown."""

    undo: _Undo | None

    optional: bool
    fallback: str
    fallback_annotation: Any
    policy: str = ""
    on_own_failure: bool | None = None
    group: Shared = Shared()


class Step(Member[R]):
    """
    One call of an action. Each method returns a changed copy.

    Nothing is recorded before :meth:`run`.
    """

    def __init__(self, pass_: Pass, draft: _Draft) -> None:
        self._pass = pass_
        self._draft = draft

    def compensate_with(
        self, undo: Action[Q, Any], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Self:
        """
        Undo the step by this call, if a later one fails.

        RESULT among the arguments stands for what the step returned. Raises
        DefinitionError for an undo without a durable name, WrongArguments or
        Unserialisable for arguments that it can't take.
        """
        check_undo(undo, what="compensate_with(...)")
        return self._with(undo=_undo(undo, args, kwargs))

    def on_compensation_failure(self, policy: UndoPolicy, /) -> Self:
        """Say whether the rollback goes on (CONTINUE) when this undo fails (STOP)."""
        checked = undo_policy(policy, what=f"on_compensation_failure({policy!r})")
        return self._with(policy=checked.value)

    def compensate_on_own_failure(self, *, wanted: bool = True) -> Self:
        """
        Undo the step also when it failed itself; RESULT is then None.

        Without being *wanted*: do not, whatever its group or the settings say.
        """
        return self._with(on_own_failure=wanted)

    @overload
    def optional(self) -> Step[R | None]: ...
    @overload
    def optional(self, fallback: T) -> Step[R | T]: ...
    def optional(self, fallback: Any = None) -> Step[Any]:
        """Let the run go on with *fallback* when the step gives up."""
        text, annotation = _fallback(fallback, self._draft.action.name)
        changed = self._with(
            optional=True, fallback=text, fallback_annotation=annotation
        )
        return cast(Step[Any], changed)

    def run(self) -> R:
        """
        Return the step's result.

        Raises ActionFailed when it has no attempt left, ActionExpired when it missed
        its deadline.
        """
        return cast(R, self._pass.step(self.call()))

    def call(self) -> StepCall:
        """Return the step as a pass takes it."""
        draft, action = self._draft, self._draft.action
        return StepCall(
            name=action.name,
            arguments=draft.arguments,
            rule=self._rule(),
            undo=self._undo_order(),
            optional=draft.optional,
            fallback=draft.fallback,
            fallback_annotation=draft.fallback_annotation,
            aliases=action.declared.aliases,
            annotation=result_of(action.function, f"action {action.name}"),
            block=draft.group.block,
        )

    def _rule(self) -> StepRule:
        """The action's rule, with what of this very call nobody is shown."""
        draft, declared = self._draft, self._draft.action.declared
        undo, result = draft.undo, declared.redacts_result
        hidden: tuple[Place, ...] = ()
        if undo is not None and (draft.hidden or undo.hidden or result):
            passed = carried(
                undo.arguments, draft.arguments, draft.hidden, result=result
            )
            hidden = tuple(dict.fromkeys((*undo.hidden, *passed)))
        redact = Redaction(arguments=draft.hidden, undo=hidden, result=result)
        rule = _rule(draft.action)
        return rule if redact == rule.redact else replace(rule, redact=redact)

    def _check(self) -> None:
        self._undo_order()

    def _under(self, group: Shared) -> Self:
        return self._with(group=group)

    def _undo_order(self) -> UndoOrder | None:
        draft = self._draft
        if draft.undo is not None:
            own = UndoOrder(
                name=draft.undo.name,
                arguments=draft.undo.arguments,
                policy=draft.policy,
                on_own_failure=draft.on_own_failure,
            )
            return draft.group.fill(own)
        if draft.policy or draft.on_own_failure is not None:
            raise DefinitionError(
                f"The step {draft.action.name} says when it is undone, but has no undo;"
                " add compensate_with(...), or leave it out."
            )
        return None

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        vars(other).update(_draft=replace(self._draft, **changes))
        return other


def step(
    pass_: Pass, action: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Step[Any]:
    """
    Return the step of ``self.action(...)``.

    Raises DefinitionError for what is no action, WrongArguments, Unserialisable or
    PayloadTooLarge for arguments that can't be stored.
    """
    if not isinstance(action, Action):
        given = getattr(action, "__qualname__", None) or repr(action)
        raise DefinitionError(
            f"self.action() takes an action, not {given}: decorate the function with "
            "@action, so that its calls can be recorded."
        )
    arguments = bind(action.function, args, kwargs, what=f"action {action.name}")
    declared, undo = action.declared, action.declared.compensate
    fallback, annotation = _fallback(declared.fallback, action.name)
    draft = _Draft(
        action=action,
        arguments=_encoded(arguments),
        hidden=places(action.function, arguments, declared.redact),
        undo=None if undo is None else _undo(undo, arguments.args, arguments.kwargs),
        optional=declared.optional,
        fallback=fallback,
        fallback_annotation=annotation,
    )
    return Step(pass_, draft)


def _rule(action: Action[..., Any]) -> StepRule:
    """The rule of a call; the settings' deadline counts where it names none."""
    rule, setting = action.declared.rule, conf.get().STEP_EXPIRES_IN
    if action.declared.names_deadline or setting is None:
        return rule
    return replace(rule, expires_in=setting)


def added_undo(
    undo: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> StepCall:
    """
    Return what ``self.add_compensation(...)`` asks of a pass.

    Raises DefinitionError for an undo without a durable name, WrongArguments,
    Unserialisable or PayloadTooLarge for arguments that can't be stored.
    """
    check_undo(undo, what="add_compensation(...)")
    action = cast("Action[..., Any]", undo)
    made = _undo(action, args, kwargs, allow_result=False)
    return StepCall(
        name=action.name,
        arguments="{}",
        rule=replace(action.declared.rule, redact=Redaction(undo=made.hidden)),
        undo=UndoOrder(name=made.name, arguments=made.arguments),
        aliases=action.declared.aliases,
    )


def undo_policy(value: object, *, what: str) -> UndoPolicy:
    """Return *value* if it is STOP or CONTINUE."""
    if not isinstance(value, UndoPolicy):
        raise DefinitionError(f"{what} takes STOP or CONTINUE.")
    return value


def duration(value: object, *, what: str) -> timedelta:
    """Return *value* if it is a length of time that is not negative."""
    if not isinstance(value, timedelta):
        raise DefinitionError(
            f"{what} is {value!r}, of type {type(value).__name__}; it takes a "
            "timedelta, such as timedelta(minutes=5)."
        )
    if value < timedelta():
        raise DefinitionError(f"{what} is {value}, which is negative.")
    return value


def _undo(
    undo: Action[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    allow_result: bool = True,
) -> _Undo:
    arguments = bind(undo.function, args, kwargs, what=f"undo {undo.name}")
    return _Undo(
        name=undo.name,
        arguments=_encoded(arguments, allow_result=allow_result),
        hidden=places(undo.function, arguments, undo.declared.redact),
    )


def _encoded(arguments: Arguments, *, allow_result: bool = False) -> str:
    return encode_arguments(
        arguments,
        limit=conf.get().MAX_PAYLOAD_BYTES,
        allow_models=True,
        allow_result=allow_result,
    )


def _fallback(value: object, name: str) -> tuple[str, Any]:
    # Read back by its own class: it need not be of the kind that the action returns.
    limit = conf.get().MAX_PAYLOAD_BYTES
    text = encode(value, what=f"the fallback of action {name}", limit=limit)
    return text, type(value)

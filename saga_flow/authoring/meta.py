"""A workflow class, checked and read before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import Parameter
from typing import Any, Final

from saga_flow import registry
from saga_flow.authoring import signals
from saga_flow.authoring.annotations import contract, returned
from saga_flow.authoring.times import limit
from saga_flow.exceptions import DefinitionError, UnknownOption
from saga_flow.names import MAX_QUEUE, MAX_VERSION, identifier, suggestion, tags

_OPTIONS: Final = (
    "name",
    "version",
    "queue",
    "expires_in",
    "tags",
    "tenancy",
    "abstract",
)
_LATER: Final = frozenset({"child_policy"})
_OWN: Final = frozenset({"name", "abstract"})
"""Options that a subclass does not take over from its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The options of ``class Meta``, checked."""

    name: str = ""
    version: str = ""
    queue: str = ""
    expires_in: timedelta | None = None
    names_deadline: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    tenancy: bool | None = None
    abstract: bool = False


def read(cls: type[Any]) -> Meta:
    """
    Return the options of *cls*; a parent's count where it has none of its own.

    Raises UnknownOption, InvalidName or DefinitionError.
    """
    raw = _raw(cls)
    what = f"{cls.__qualname__}.Meta"
    values: dict[str, Any] = {}
    if "name" in raw:
        values["name"] = identifier(raw["name"], what=f"{what}.name")
    if "version" in raw:
        values["version"] = identifier(
            raw["version"], what=f"{what}.version", limit=MAX_VERSION
        )
    if "queue" in raw:
        values["queue"] = identifier(
            raw["queue"], what=f"{what}.queue", limit=MAX_QUEUE
        )
    if "expires_in" in raw:
        values["expires_in"] = limit(raw["expires_in"], what=f"{what}.expires_in")
        values["names_deadline"] = True
    if "tags" in raw:
        values["tags"] = tags(raw["tags"], what=f"{what}.tags")
    if raw.get("tenancy") is not None:
        values["tenancy"] = _flag(raw["tenancy"], f"{what}.tenancy")
    return Meta(
        **values, abstract=_flag(raw.get("abstract", False), f"{what}.abstract")
    )


def register(cls: type[Any], meta: Meta) -> None:
    """Check the class and make it known. Raises DefinitionError or DuplicateName."""
    check(cls)
    registry.register_workflow(
        registry.Entry(
            module=cls.__module__,
            qualname=cls.__qualname__,
            name=meta.name,
            build=lambda name: _definition(cls, meta, name),
        )
    )


def check(cls: type[Any]) -> None:
    """Raise DefinitionError unless *cls* can be driven by the engine."""
    handle = inspect.getattr_static(cls, "handle")
    what = f"{cls.__qualname__}.handle"
    if handle is _base(cls).handle:
        raise DefinitionError(
            f"{cls.__qualname__} has no handle(); write one, or set abstract = True in "
            "its Meta."
        )
    if not inspect.isfunction(handle):
        raise DefinitionError(f"{what} is no method; write def handle(self, ...).")
    if inspect.iscoroutinefunction(handle) or inspect.isasyncgenfunction(handle):
        raise DefinitionError(
            f"{what} is async; it is replayed from the top and never awaits. Write "
            "def handle(self, ...), and call async actions from it as any others."
        )
    if inspect.isgeneratorfunction(handle):
        raise DefinitionError(f"{what} yields; end each step in .run() instead.")
    _check_init(cls)
    _check_taken(cls)
    signals.check_names(cls)


def _definition(cls: type[Any], meta: Meta, name: str) -> registry.WorkflowDefinition:
    payloads = {key: each.payload for key, each in signals.declared(cls).items()}
    return registry.WorkflowDefinition(
        name=name,
        cls=cls,
        version=meta.version,
        queue=meta.queue,
        expires_in=meta.expires_in,
        names_deadline=meta.names_deadline,
        tags=meta.tags,
        tenancy=meta.tenancy,
        signals=payloads,
        contract=contract(cls.handle, payloads),
        result_annotation=returned(cls.handle, what=f"workflow {name}"),
    )


def _raw(cls: type[Any]) -> dict[str, Any]:
    meta = getattr(cls, "Meta", None)
    if meta is None:
        return {}
    own = cls.__dict__.get("Meta")
    names = [name for name in dir(meta) if not name.startswith("__")]
    for name in names:
        _check_option(name, f"{cls.__qualname__}.Meta")
    return {
        name: getattr(meta, name)
        for name in names
        if name not in _OWN or (own is not None and name in vars(own))
    }


def _check_option(name: str, what: str) -> None:
    if name in _OPTIONS:
        return
    if name in _LATER:
        raise UnknownOption(
            f"{what}.{name} is not available yet in this release, and would not be "
            "kept; leave it out."
        )
    raise UnknownOption(
        f"{what} has no option {name!r}.{suggestion(name, _OPTIONS)} "
        f"Legal are {', '.join(_OPTIONS)}."
    )


def _flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise DefinitionError(f"{what} is {value!r}; it takes a bool.")
    return value


def _check_init(cls: type[Any]) -> None:
    made: Callable[..., Any] = cls.__init__
    if made is object.__init__:
        return
    _, *parameters = inspect.signature(made).parameters.values()
    for each in parameters:
        optional = each.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if each.default is Parameter.empty and not optional:
            raise DefinitionError(
                f"{cls.__qualname__}.__init__ takes {each.name!r}; the engine makes a "
                "workflow without arguments, for each pass. Take it in handle()."
            )


def _check_taken(cls: type[Any]) -> None:
    base = _base(cls)
    free = {"handle", "Meta"}
    taken = {name for name in vars(base) if not name.startswith("__")} - free
    for each in cls.__mro__[: cls.__mro__.index(base)]:
        for name in vars(each).keys() & taken:
            raise DefinitionError(
                f"{each.__qualname__}.{name} hides what every workflow has under this "
                "name; call it something else."
            )


def _base(cls: type[Any]) -> type[Any]:
    """Return Workflow, which can't be imported from here."""
    return next(each for each in reversed(cls.__mro__) if "_bind" in vars(each))

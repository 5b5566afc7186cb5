"""
Durable names, and what they stand for in this process.

A name in the database outlives the code that it named, so nothing but this module
turns one into the other. A definition without a name of its own is called
``app_label.attribute`` once Django's apps are known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from saga_flow.exceptions import DuplicateName, UnknownDefinition
from saga_flow.names import identifier, suggestion
from saga_flow.records import StepRule

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDefinition:
    """One action, as its decorator declared it."""

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    """Earlier names under which it is still found."""

    rule: StepRule = field(default_factory=StepRule)
    names_retry: bool = False
    """Whether it has a retry policy of its own, be it one of a single attempt."""

    optional: bool = False
    fallback: object = None
    compensate: str | None = None
    """The durable name of its default undo."""

    result_annotation: Any = Any
    is_async: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDefinition:
    """One workflow class, as its ``Meta`` declared it."""

    name: str
    cls: type[Any]
    version: str = ""
    queue: str = ""
    """Empty: the settings' word, or the cluster's own name."""

    expires_in: timedelta | None = None
    names_deadline: bool = False
    """Whether ``expires_in`` is its own word, None included; else the settings'."""

    tags: Mapping[str, str] = field(default_factory=dict)
    tenancy: bool | None = None
    """Whether its runs are called in their tenant; None: as the settings say."""

    signals: Mapping[str, Any] = field(default_factory=dict)
    """The payload's annotation of each declared signal; empty: any name goes."""

    contract: str = "{}"
    """JSON: what the code takes, snapshotted on each run that it starts."""

    result_annotation: Any = Any
    """What ``handle()`` says that it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[D]):
    """One thing to be registered; ``build`` makes its definition from its name."""

    module: str
    qualname: str
    build: Callable[[str], D]
    name: str = ""
    """Empty: the default name."""

    aliases: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands in the code: what comes from there again replaces it."""
        return (self.module, self.qualname)

    def __str__(self) -> str:
        return f"{self.module}.{self.qualname}"


class _Shelf(Generic[D]):
    """All definitions of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._pending: dict[tuple[str, str], Entry[D]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._entries: dict[str, Entry[D]] = {}
        self._built: dict[str, D] = {}

    def copy(self) -> _Shelf[D]:
        other = _Shelf[D](self.kind)
        other._pending = dict(self._pending)
        other._names = dict(self._names)
        other._entries = dict(self._entries)
        other._built = dict(self._built)
        return other

    def add(self, entry: Entry[D]) -> None:
        if not entry.name and not apps.apps_ready:
            self._pending[entry.place] = entry
        else:
            self._put(entry)

    def settle(self) -> None:
        """Name what was registered before Django's apps were known."""
        while self._pending and apps.apps_ready:
            self._put(self._pending.pop(next(iter(self._pending))))

    def _put(self, entry: Entry[D]) -> None:
        name = entry.name or _default_name(entry)
        for each in (name, *entry.aliases):
            other = self._entries.get(each)
            if other is not None and other.place != entry.place:
                raise DuplicateName(
                    f"{entry} can't be the {self.kind} {each!r}: {other} is. "
                    "Give one of them a name of its own."
                )
        self._forget(entry.place)
        self._names[entry.place] = name
        self._entries.update(dict.fromkeys((name, *entry.aliases), entry))

    def _forget(self, place: tuple[str, str]) -> None:
        old = [name for name, each in self._entries.items() if each.place == place]
        for name in old:
            del self._entries[name]
            self._built.pop(name, None)

    def name_at(self, module: str, qualname: str) -> str:
        self.settle()
        name = self._names.get((module, qualname))
        if name is not None:
            return name
        waits = (module, qualname) in self._pending
        raise UnknownDefinition(
            f"{module}.{qualname} has no durable name"
            + (
                " before Django's apps are loaded: call django.setup() first, or "
                "give it a name."
                if waits
                else f": it is no registered {self.kind} of this process."
            )
        )

    def get(self, name: str) -> D:
        definition = self._built.get(name)
        if definition is not None:
            return definition
        self.settle()
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownDefinition(
                f"No {self.kind} named {name!r} is registered in this process."
                f"{suggestion(name, self._entries)} Those in actions.py and "
                "workflows.py of an installed app are; import any other module from "
                "there."
            )
        built = self._built[name] = entry.build(self._names[entry.place])
        return built

    def all(self) -> tuple[D, ...]:
        self.settle()
        return tuple(self.get(name) for name in sorted(self._names.values()))


def _default_name(entry: Entry[Any]) -> str:
    config = apps.get_containing_app_config(entry.module)
    label = entry.module if config is None else config.label
    name = f"{label}.{entry.qualname.rpartition('.')[2]}"
    return identifier(name, what=f"the default name of {entry}")


class _Shelves:
    """What is swapped as a whole while tests define workflows of their own."""

    actions: _Shelf[ActionDefinition] = _Shelf("action")
    workflows: _Shelf[WorkflowDefinition] = _Shelf("workflow")
    below: ClassVar[list[tuple[_Shelf[Any], _Shelf[Any]]]] = []
    """What the open blocks of :func:`isolated` have covered, the first one first."""

    # Definitions are registered by imports, which any thread may be the first to do.
    lock = threading.RLock()


def register_action(entry: Entry[ActionDefinition]) -> None:
    """Make an action known. Raises DuplicateName."""
    with _Shelves.lock:
        _Shelves.actions.add(entry)


def register_workflow(entry: Entry[WorkflowDefinition]) -> None:
    """Make a workflow known. Raises DuplicateName."""
    with _Shelves.lock:
        _Shelves.workflows.add(entry)


def action(name: str) -> ActionDefinition:
    """Return the action of this name or alias. Raises UnknownDefinition."""
    with _Shelves.lock:
        return _Shelves.actions.get(name)


def workflow(name: str) -> WorkflowDefinition:
    """Return the workflow of this name. Raises UnknownDefinition."""
    with _Shelves.lock:
        return _Shelves.workflows.get(name)


def action_name(module: str, qualname: str) -> str:
    """Return the durable name of the action that stands there in the code."""
    with _Shelves.lock:
        return _Shelves.actions.name_at(module, qualname)


def workflow_name(module: str, qualname: str) -> str:
    """Return the durable name of the workflow class that stands there in the code."""
    with _Shelves.lock:
        return _Shelves.workflows.name_at(module, qualname)


def actions() -> tuple[ActionDefinition, ...]:
    """Return every action, by name."""
    with _Shelves.lock:
        return _Shelves.actions.all()


def workflows() -> tuple[WorkflowDefinition, ...]:
    """Return every workflow, by name."""
    with _Shelves.lock:
        return _Shelves.workflows.all()


def ready() -> None:
    """
    Find the definitions of every installed app, name them and build them all.

    Raises DuplicateName, or what else is wrong with a definition, before the process
    takes up work. Called when Django's apps are ready.
    """
    autodiscover_modules("actions", "workflows")
    actions()
    workflows()


@contextmanager
def isolated() -> Iterator[None]:
    """
    Forget at the end of the block what was registered inside it.

    Every thread sees what is registered inside. Blocks may be nested, and blocks of
    several threads may overlap: none brings back what another has put away.
    """
    with _Shelves.lock:
        before = (_Shelves.actions, _Shelves.workflows)
        own = (before[0].copy(), before[1].copy())
        _Shelves.below.append(before)
        _Shelves.actions, _Shelves.workflows = own
    try:
        yield
    finally:
        with _Shelves.lock:
            _put_away(own)


def _put_away(own: tuple[_Shelf[Any], _Shelf[Any]]) -> None:
    if own[0] is _Shelves.actions:
        _Shelves.actions, _Shelves.workflows = _Shelves.below.pop()
        return
    # another block that was opened later is still in use
    _Shelves.below[:] = [each for each in _Shelves.below if each[0] is not own[0]]

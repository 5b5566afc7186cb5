"""``flows``: runs by workflow, by id, and by what they have in common."""

from __future__ import annotations

from typing import Any, ParamSpec, TypeVar, overload
from uuid import UUID

from saga_flow import registry
from saga_flow.authoring import commands, ports
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.requests import CommandOptions, request
from saga_flow.authoring.selection import Selection, chosen
from saga_flow.authoring.start import Handles, Start, definition_of, starting
from saga_flow.authoring.twins import twin
from saga_flow.exceptions import DefinitionError, RunNotFound
from saga_flow.names import MAX_TENANT, identifier
from saga_flow.records import Answer, Target

P = ParamSpec("P")
R = TypeVar("R")


def create(flow: type[Handles[P, R]], /) -> Start[P, R]:
    """Return the start of a workflow class, without options."""
    return starting(flow, {})


def workflow(name: str, /) -> Start[..., Any]:
    """Return the start of a durable name's workflow. Raises UnknownDefinition."""
    return Start(registry.workflow(name), {})


@overload
def load(
    instance_id: str, flow: type[Handles[..., R]], /, *, tenant: str = ...
) -> Handle[R]: ...
@overload
def load(instance_id: str, /, *, tenant: str = ...) -> Handle[Any]: ...
def load(instance_id: str, flow: Any = None, /, *, tenant: str = "") -> Handle[Any]:
    """
    Return a handle that follows the instance's current run.

    *flow* says of which workflow it is. Raises RunNotFound where there is no such run.
    """
    target = _instance(instance_id, tenant)
    handle: Handle[Any] = Handle.of_snapshot(
        ports.queries().snapshot(target), pinned=False
    )
    if flow is not None:
        _check_workflow(handle, definition_of(flow).name)
    return handle


@overload
async def aload(
    instance_id: str, flow: type[Handles[..., R]], /, *, tenant: str = ...
) -> Handle[R]: ...
@overload
async def aload(instance_id: str, /, *, tenant: str = ...) -> Handle[Any]: ...
async def aload(
    instance_id: str, flow: Any = None, /, *, tenant: str = ""
) -> Handle[Any]:
    """Do what :func:`load` does."""
    return await twin(load)(instance_id, flow, tenant=tenant)


def load_run(run_id: UUID | str, /) -> Handle[Any]:
    """Return a handle that is pinned to one run. Raises RunNotFound."""
    target = Target(run_id=_uuid(run_id))
    return Handle.of_snapshot(ports.queries().snapshot(target), pinned=True)


def load_selection(
    instance_id: str, /, run_id: UUID | str | None = None, *, tenant: str = ""
) -> Handle[Any]:
    """
    Return the handle of one of the instance's runs, or of its current one.

    Raises RunNotFound where there is none, or the run is of another instance.
    """
    if run_id is None:
        return load(instance_id, tenant=tenant)
    target = _instance(instance_id, tenant)
    handle = load_run(run_id)
    found = handle.snapshot
    if (found.instance_id, found.tenant) != (target.instance_id, target.tenant):
        raise RunNotFound(f"Instance {instance_id!r} has no run {run_id}.")
    return handle


aload_run = twin(load_run)
aload_selection = twin(load_selection)


def filter(**params: Any) -> Selection:  # noqa: A001 - as Django's own is called
    """
    Return the runs that *params* describe (docs/authoring.md, "Lists").

    Raises an error that names any parameter or value which is not legal.
    """
    return chosen(params)


def release(
    instance_id: str, /, *, tenant: str = "", options: CommandOptions | None = None
) -> Answer:
    """Give up a reserved instance id. Raises CommandRejected if it is none."""
    target = _instance(instance_id, tenant)
    answer = ports.client().release(target, request(options or {}))
    return commands.accepted(answer)


arelease = twin(release)


def _instance(instance_id: str, tenant: str) -> Target:
    if tenant:
        identifier(tenant, what="tenant", limit=MAX_TENANT)
    name = identifier(instance_id, what="instance_id")
    return Target(instance_id=name, tenant=tenant)


def _uuid(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise DefinitionError(
            f"run_id={value!r} is no UUID; an instance id goes to flows.load()."
        ) from None


def _check_workflow(handle: Handle[Any], wanted: str) -> None:
    if handle.workflow != wanted:
        raise RunNotFound(
            f"Instance {handle.instance_id!r} is a run of {handle.workflow}, not of "
            f"{wanted}."
        )

"""
The tenant that an author's code works for (docs/tenancy.md).

A hook of the host's captures it when a run is started; another one restores it
wherever the code of the run's author is called. The engine itself works outside.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

from django.utils.module_loading import import_string

from saga_flow import conf
from saga_flow.exceptions import TenancyFailed
from saga_flow.serialization import codec

logger = logging.getLogger("saga_flow.tenancy")

Entered: TypeAlias = AbstractContextManager[Any]


def captured(*, restored: bool | None) -> str | None:
    """
    What the capturing hook says now, as it is kept with a run; None without the hook.

    *restored*: whether the workflow wants it restored; None leaves it to the settings.
    Whatever the hook raises goes to whoever starts the run. Raises Unserialisable for
    a value that is no JSON, and PayloadTooLarge.
    """
    options = conf.get()
    if not options.TENANCY_CAPTURE:
        return None
    wanted = options.TENANCY_AUTO if restored is None else restored
    kept = {
        "context": import_string(options.TENANCY_CAPTURE)(),
        "restored": bool(options.TENANCY_RESTORE) and wanted,
    }
    what = f"value of the tenancy hook {options.TENANCY_CAPTURE}"
    return codec.encode(kept, what=what, limit=options.MAX_PAYLOAD_BYTES)


def inherited(kept: str | None, *, restored: bool | None) -> str | None:
    """What a child keeps of its parent's tenant, to be restored as it wants itself."""
    if kept is None:
        return None
    options = conf.get()
    wanted = options.TENANCY_AUTO if restored is None else restored
    own = {
        "context": _read(kept)["context"],
        "restored": bool(options.TENANCY_RESTORE) and wanted,
    }
    return codec.encode(
        own, what="captured tenancy of a child", limit=options.MAX_PAYLOAD_BYTES
    )


def context(kept: str | None) -> Any:
    """What was captured when the run was started; None if nothing was."""
    return None if kept is None else _read(kept)["context"]


@contextmanager
def entered(kept: str | None) -> Iterator[None]:
    """
    Be in the tenant of a run while the block runs, if it is to be restored.

    Raises TenancyFailed, before the block, when the hook can't restore it.
    """
    inside = enter(kept)
    try:
        yield
    finally:
        leave(inside)


def enter(kept: str | None) -> Entered | None:
    """Restore what is *kept*; the answer is for :func:`leave`. Raises TenancyFailed."""
    if kept is None:
        return None
    try:
        read = _read(kept)
        if not read["restored"]:
            return None
        inside = _hook()(read["context"])
        inside.__enter__()
    except Exception as error:  # a hook is the host's code and may raise anything
        raise TenancyFailed(
            f"The tenant of the run could not be restored, by {type(error).__name__}: "
            f"{str(error).rstrip('.')}. Nothing more of the run is called; it is tried "
            "again by itself. Mend what SAGA_FLOW['TENANCY_RESTORE'] names."
        ) from error
    return inside


def leave(inside: Entered | None) -> None:
    """
    Go back to what was before :func:`enter`, whatever happened meanwhile.

    A hook that fails in this is told of and changes no outcome: what the code of the
    run did has been done.
    """
    if inside is None:
        return
    try:
        inside.__exit__(None, None, None)
    except Exception:
        logger.exception(
            "%s failed as it went back, so this process may still be in the tenant of "
            "a run that has been left",
            conf.get().TENANCY_RESTORE,
        )


def problem() -> str:
    """What is wrong with the hooks in the settings; empty: nothing."""
    options = conf.get()
    if options.TENANCY_RESTORE and not options.TENANCY_CAPTURE:
        return (
            "SAGA_FLOW['TENANCY_RESTORE'] is set and SAGA_FLOW['TENANCY_CAPTURE'] is "
            "not, so there is nothing to restore."
        )
    for name in ("TENANCY_CAPTURE", "TENANCY_RESTORE"):
        told = _problem_of(getattr(options, name))
        if told:
            return f"SAGA_FLOW[{name!r}] {told}"
    return ""


def _problem_of(path: str) -> str:
    if not path:
        return ""
    try:
        found = import_string(path)
    except Exception as error:  # noqa: BLE001 - importing is the host's code too
        return f"is {path!r}, which can't be imported: {error}"
    return "" if callable(found) else f"is {path!r}, which is {found!r}: not callable."


def _read(kept: str) -> dict[str, Any]:
    read: dict[str, Any] = codec.decode(kept, what="captured tenancy")
    return read


def _hook() -> Callable[[Any], Entered]:
    path = conf.get().TENANCY_RESTORE
    if not path:
        raise LookupError(
            "the run was started to have its tenant restored, and here "
            "SAGA_FLOW['TENANCY_RESTORE'] is empty."
        )
    hook: Callable[[Any], Entered] = import_string(path)
    return hook

"""
One filter for every list: Python, pages, commands, bulk actions.

An unknown name or value is an error that names the legal ones. Bulk actions stand on
filters, so a typo must never come to mean "everything".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import TextChoices
from django.utils.dateparse import parse_datetime

from saga_flow import registry
from saga_flow.exceptions import InvalidFilter
from saga_flow.names import suggestion
from saga_flow.states import (
    COMPLETED_BUCKET,
    FAILED_BUCKET,
    RUNNING_BUCKET,
    ClosedReason,
    CompensationState,
    FlowStatus,
    status_bucket,
)
from saga_flow.store.wake import WAKEABLE

C = TypeVar("C", bound=TextChoices)

BUCKETS: Final = (RUNNING_BUCKET, COMPLETED_BUCKET, FAILED_BUCKET)
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})
_EITHER: Final = frozenset({"any", "both"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFilter:
    """Which runs are meant; the empty filter means all that are not archived."""

    status: frozenset[FlowStatus] = frozenset()
    """Any of these; empty: every status."""

    status_bucket: str | None = None
    closed_reason: frozenset[ClosedReason] = frozenset()
    compensation_state: frozenset[CompensationState] = frozenset()
    workflow: str | None = None
    """A workflow's durable name."""

    version: str | None = None
    instance_id: str | None = None
    ids: frozenset[UUID] | None = None
    """Run ids; an empty set means no run at all."""

    queue: str | None = None
    tenant: str | None = None
    business_key: str | None = None
    tag: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """All of these labels."""

    wait_kind: str | None = None
    awaiting_signal: str | None = None
    """Runs with an open wait for a signal of this name."""

    archived: bool | None = False
    """Archived runs only, none of them, or (None) both."""

    created_after: datetime | None = None
    created_before: datetime | None = None
    closed_after: datetime | None = None
    closed_before: datetime | None = None
    signalable: bool = False
    """Only runs that a signal would wake."""

    stuck: bool = False
    """Only open runs that nothing would ever wake (docs/operations.md, "Sweeps")."""

    @property
    def statuses(self) -> frozenset[FlowStatus]:
        """Every status that fits all that is said of statuses."""
        found = self.status or frozenset(FlowStatus)
        if self.status_bucket is not None:
            found = frozenset(
                each for each in found if status_bucket(each) == self.status_bucket
            )
        if self.signalable:
            found &= FlowStatus.signalable()
        return found & WAKEABLE if self.stuck else found

    def fingerprint(self) -> str:
        """A short hash that two filters share if and only if they mean the same."""
        told = repr([(name, _canonical(getattr(self, name))) for name in NAMES])
        return hashlib.sha256(told.encode()).hexdigest()[:16]


NAMES: Final = tuple(each.name for each in fields(FlowFilter))


def flow_filter(values: Mapping[str, Any]) -> FlowFilter:
    """
    Return the filter that *values* ask for, as Python values or as text.

    None means "not given". Raises InvalidFilter, which names what is unknown or
    ill-formed, what is legal and what was probably meant; UnknownDefinition for a
    class that is no registered workflow.
    """
    for name in values:
        if name not in NAMES:
            raise InvalidFilter(
                f"There is no filter {name!r}.{suggestion(name, NAMES)} "
                f"Legal are {', '.join(NAMES)}."
            )
    given = {name: value for name, value in values.items() if value is not None}
    return FlowFilter(**{name: READERS[name](name, given[name]) for name in given})


def _canonical(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(str(each) for each in value)
    if isinstance(value, Mapping):
        return sorted(value.items())
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value


def _several(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _members(choices: type[C]) -> Callable[[str, Any], frozenset[C]]:
    def read(name: str, value: Any) -> frozenset[C]:
        return frozenset(_member(choices, name, each) for each in _several(value))

    return read


def _member(choices: type[C], name: str, value: Any) -> C:
    try:
        return choices(value)
    except ValueError:
        raise InvalidFilter(_illegal(name, value, choices.values)) from None


def _bucket(name: str, value: Any) -> str:
    if value not in BUCKETS:
        raise InvalidFilter(_illegal(name, value, BUCKETS))
    return str(value)


def _illegal(name: str, value: Any, legal: Iterable[str]) -> str:
    return (
        f"{name}={value!r} is not legal.{suggestion(str(value), legal)} "
        f"Legal are {', '.join(legal)}."
    )


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{name}={value!r} must be text.")
    if "\x00" in value:
        raise InvalidFilter(f"{name}={value!r} holds a NUL, which no column can hold.")
    return value


def _workflow(name: str, value: Any) -> str:
    if isinstance(value, type):
        return registry.workflow_name(value.__module__, value.__qualname__)
    return _text(name, value)


def _ids(name: str, value: Any) -> frozenset[UUID]:
    return frozenset(_id(name, each) for each in _several(value))


def _id(name: str, value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidFilter(
            f"{name} holds {value!r}, which is not a run id such as "
            "01890a5d-ac96-774b-bcce-b302099a8057."
        ) from None


def _tag(name: str, value: Any) -> Mapping[str, str]:
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        pairs = [_pair(name, each) for each in _several(value)]
    tags: dict[str, str] = {}
    for key, wanted in pairs:
        if tags.setdefault(_text(name, key), _text(name, wanted)) != wanted:
            raise InvalidFilter(
                f"{name} asks for {key}={tags[key]!r} and for {key}={wanted!r}; a run "
                "has one value a key."
            )
    return MappingProxyType(tags)


def _pair(name: str, value: Any) -> tuple[str, str]:
    key, sign, wanted = _text(name, value).partition("=")
    if not key or not sign:
        raise InvalidFilter(
            f"{name}={value!r} is not a label; write key=value, such as team=checkout."
        )
    return key.strip(), wanted.strip()


def _moment(name: str, value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else _parsed(name, value)
    if moment.tzinfo is None:
        raise InvalidFilter(
            f"{name}={value!r} has no offset; write one, such as "
            "2026-01-31T08:00:00Z, or pass an aware datetime."
        )
    return moment


def _parsed(name: str, value: Any) -> datetime:
    try:
        moment = parse_datetime(str(value))
    except ValueError:
        moment = None
    if moment is None:
        raise InvalidFilter(
            f"{name}={value!r} is not a time; write it like 2026-01-31T08:00:00Z."
        )
    return moment


def _flag(name: str, value: Any) -> bool:
    told = str(value).lower()
    if told not in _TRUE | _FALSE:
        raise InvalidFilter(f"{name}={value!r} is not legal. Legal are true, false.")
    return told in _TRUE


def _archived(name: str, value: Any) -> bool | None:
    told = str(value).lower()
    if told in _EITHER:
        return None
    if told not in _TRUE | _FALSE:
        raise InvalidFilter(_illegal(name, value, ("true", "false", "any")))
    return told in _TRUE


READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = MappingProxyType(
    dict.fromkeys(NAMES, _text)
    | {
        "status": _members(FlowStatus),
        "status_bucket": _bucket,
        "closed_reason": _members(ClosedReason),
        "compensation_state": _members(CompensationState),
        "workflow": _workflow,
        "ids": _ids,
        "tag": _tag,
        "archived": _archived,
        "created_after": _moment,
        "created_before": _moment,
        "closed_after": _moment,
        "closed_before": _moment,
        "signalable": _flag,
        "stuck": _flag,
    }
)

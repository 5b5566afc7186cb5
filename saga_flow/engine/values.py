"""Recorded values and metadata in a pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from saga_flow import conf, structural, tenancy
from saga_flow.engine.passes import Pass, grow
from saga_flow.engine.unwinding import Broken, Outdone
from saga_flow.exceptions import TenancyFailed
from saga_flow.records import Line, NewSideEffect, SideEffectFacts
from saga_flow.serialization import codec
from saga_flow.states import SideEffectKind
from saga_flow.store import history


def side_effect(
    pass_: Pass,
    kind: SideEffectKind,
    key: str,
    factory: Callable[[], Any],
    annotation: Any,
) -> Any:
    """
    The value of *factory*, called once and recorded; replayed ever after.

    It is not called once the run may start no more work: a check just before the
    call, not a lock.
    """
    requested = f"{kind.value} {key!r}"
    ordinal, recorded = pass_.take(requested, SideEffectFacts)
    what = f"value of {requested}"
    if recorded is not None:
        if (recorded.kind, recorded.key) != (kind, key):
            raise pass_.mismatch(ordinal, requested)
        if conf.get().JOURNAL_REUSED_SIDE_EFFECTS:
            pass_.pending.lines.append(
                Line(type="side_effect.reused", step=ordinal, data=_key(key))
            )
        return pass_.decoded(recorded.value or "null", annotation, what)
    if kind is SideEffectKind.SIDE_EFFECT and history.is_unwanted(pass_.claim.run):
        raise pass_.leave(Outdone())
    text = structural.note_size(_made(pass_, kind, factory, what), what=what)
    pass_.pending.side_effects.append(
        NewSideEffect(sequence=ordinal, kind=kind, key=key, value=text)
    )
    pass_.pending.lines.append(
        Line(type="side_effect.recorded", step=ordinal, data=_key(key))
    )
    return codec.decode(text, annotation, what=what)


def _made(
    pass_: Pass, kind: SideEffectKind, factory: Callable[[], Any], what: str
) -> str:
    """Call *factory*, in the tenant of the run if it is the author's own."""
    limit = conf.get().MAX_PAYLOAD_BYTES
    if kind is not SideEffectKind.SIDE_EFFECT:
        return codec.encode(factory(), what=what, limit=limit)
    try:
        with tenancy.entered(pass_.claim.tenancy):
            return codec.encode(factory(), what=what, limit=limit)
    except TenancyFailed as error:
        raise pass_.leave(Broken(error)) from error


def tag(pass_: Pass, key: str, value: str | None) -> None:
    """Set a label of the run, or take it away; what was decided before stays so."""
    pass_.still_going()
    if pass_.replaying:
        return
    if pass_.tags is None:
        pass_.tags = set(history.tags(pass_.claim.run))
    before = len(pass_.tags)
    if value is None:
        pass_.tags.discard(key)
    elif key not in pass_.tags:
        grow(pass_, "MAX_TAGS", before, before + 1, "The tags")
        pass_.tags.add(key)
    pass_.pending.tags[key] = value


def memo(pass_: Pass, said: Mapping[str, Any]) -> None:
    """Merge *said* into the memo; None takes a fact away."""
    pass_.still_going()
    if pass_.replaying:
        return
    stored = pass_.pending.memo or history.memo(pass_.claim.run)
    before = pass_.decoded(stored, Any, "memo")
    merged = {k: v for k, v in {**before, **said}.items() if v is not None}
    text = codec.encode(merged, what="memo", limit=0)
    size = len(codec.encode(before, what="memo", limit=0))
    grow(pass_, "MAX_MEMO_BYTES", size, len(text), "The bytes of the memo")
    pass_.pending.memo = text


def _key(key: str) -> str:
    return json.dumps({"key": key}) if key else "{}"

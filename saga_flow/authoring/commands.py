"""What a handle sends, and what it makes of the answers."""

from __future__ import annotations

from typing import Any, Final

from saga_flow import conf
from saga_flow.authoring import ports
from saga_flow.authoring.signals import Signal
from saga_flow.names import identifier
from saga_flow.records import Answer
from saga_flow.serialization import decode, encode

_NOT_RUNNING: Final = frozenset({"run_not_active", "instance_not_started"})


def delivery(signal: Signal[Any] | str, payload: object) -> tuple[str, str]:
    """
    Return the name and the encoded payload of a delivery.

    A declared signal's payload must be readable as what it declares, or the run would
    fail on it. Raises Unserialisable, PayloadTooLarge or PayloadNotDecodable.
    """
    declared = isinstance(signal, Signal)
    name = signal.name if isinstance(signal, Signal) else signal
    identifier(name, what="the name of a signal")
    what = f"the payload of signal {name!r}"
    text = encode(payload, what=what, limit=conf.get().MAX_PAYLOAD_BYTES)
    if declared:
        decode(text, signal.payload, what=what)  # type: ignore[union-attr] # declared
    return name, text


def resume_payload(payload: object) -> str | None:
    """Return the encoded payload of a resume; None where there is none."""
    if payload is None:
        return None
    limit = conf.get().MAX_PAYLOAD_BYTES
    return encode(payload, what="the payload of resume()", limit=limit)


def accepted(answer: Answer) -> Answer:
    """Return *answer*; raise the CommandRejected that a rejection stands for."""
    ports.client().raise_for(answer)
    return answer


def taken(answer: Answer) -> bool:
    """Whether a signal was taken; False only for a run that takes none."""
    if not answer.accepted and answer.rejection_reason in _NOT_RUNNING:
        return False
    return accepted(answer).accepted

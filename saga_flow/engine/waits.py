"""``self.signal(...)``, ``self.sleep(...)`` and ``self.interrupt(...)`` in a pass."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from saga_flow import clock
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Paused, Suspended
from saga_flow.exceptions import SignalTimedOut
from saga_flow.records import (
    Line,
    NewMarker,
    NewSideEffect,
    NewTimer,
    SideEffectFacts,
    SignalCall,
    SignalFacts,
    TakenSignal,
    TimerFacts,
    Wait,
)
from saga_flow.serialization import codec
from saga_flow.states import SideEffectKind, SignalStatus, TimerStatus
from saga_flow.store import passes


@dataclass(frozen=True, slots=True)
class Given:
    """What a wait has brought."""

    value: Any = None


def wait_signal(pass_: Pass, call: SignalCall) -> Any:
    """
    The payload of the oldest delivery of this name that nobody has taken yet.

    A delivery beats a timeout that is not recorded. Raises SignalTimedOut.
    """
    ordinal, marker = take_signal(pass_, call)
    given = look(pass_, call, ordinal, marker)
    if given is None:
        timeout_at = (
            new_marker(pass_, call, ordinal) if marker is None else marker.timeout_at
        )
        raise pass_.leave(Suspended(_signal_wait(call, timeout_at)))
    return given.value


def take_signal(pass_: Pass, call: SignalCall) -> tuple[int, SignalFacts | None]:
    """The next ordinal, and the wait for this signal that is recorded there."""
    requested = f"a wait for signal {call.name!r}"
    ordinal, marker = pass_.take(requested, SignalFacts)
    if marker is not None and marker.name != call.name:
        raise pass_.mismatch(ordinal, requested)
    return ordinal, marker


def look(
    pass_: Pass, call: SignalCall, ordinal: int, marker: SignalFacts | None
) -> Given | None:
    """What the wait at *ordinal* has brought, or None. Raises SignalTimedOut."""
    if marker is not None and marker.status is SignalStatus.CONSUMED:
        row = marker.id if marker.delivery is None else marker.delivery
        return Given(_payload(pass_, call, pass_.facts.payloads[row]))
    if marker is not None and marker.status is SignalStatus.TIMED_OUT:
        raise SignalTimedOut(name=call.name, sequence=ordinal)
    delivery = next((s for s in pass_.unread if s.name == call.name), None)
    if delivery is not None:
        return Given(_take(pass_, call, ordinal, marker, delivery))
    if marker is not None and _is_over(pass_, marker):
        _time_out(pass_, marker)
        raise SignalTimedOut(name=call.name, sequence=ordinal)
    return None


def _is_over(pass_: Pass, marker: SignalFacts) -> bool:
    return marker.timeout_at is not None and marker.timeout_at <= pass_.now()


def _payload(pass_: Pass, call: SignalCall, text: str | None) -> Any:
    what = f"payload of signal {call.name!r}"
    return codec.decode(pass_.opened(text or "null", what), call.annotation, what=what)


def _take(
    pass_: Pass,
    call: SignalCall,
    ordinal: int,
    marker: SignalFacts | None,
    delivery: SignalFacts,
) -> Any:
    pass_.unread.remove(delivery)
    pass_.pending.taken.append(
        TakenSignal(
            delivery=delivery.id,
            sequence=ordinal,
            marker=None if marker is None else marker.id,
            applied=ordinal,
        )
    )
    pass_.pending.lines.append(
        Line(type="signal.consumed", step=ordinal, data=f'{{"name":"{call.name}"}}')
    )
    return _payload(pass_, call, delivery.payload)


def _time_out(pass_: Pass, marker: SignalFacts) -> None:
    pass_.pending.timed_out.append(marker.id)
    pass_.pending.lines.append(
        Line(
            type="signal.timed_out",
            step=marker.sequence,
            data=f'{{"name":"{marker.name}"}}',
        )
    )


def new_marker(pass_: Pass, call: SignalCall, ordinal: int) -> datetime | None:
    """Have a wait-marker written; when it times out."""
    timeout_at = None if call.timeout is None else pass_.now() + call.timeout
    pass_.pending.markers.append(
        NewMarker(sequence=ordinal, name=call.name, timeout_at=timeout_at)
    )
    return timeout_at


def _signal_wait(call: SignalCall, timeout_at: datetime | None) -> Wait:
    until = f" until {timeout_at:%Y-%m-%d %H:%M:%S} UTC" if timeout_at else ""
    return Wait(
        wake_at=timeout_at,
        kind="signal",
        name=call.name,
        reason=f"waiting for signal {call.name!r}{until}",
    )


def sleep(pass_: Pass, duration: timedelta | None, until: datetime | None) -> None:
    """Wait durably; a short sleep is sat out in the pass, and recorded as fired."""
    ordinal, timer = pass_.take("a timer", TimerFacts)
    if timer is not None and timer.status is TimerStatus.FIRED:
        return
    if timer is None:
        fire_at = until or pass_.now() + (duration or timedelta())
    else:
        fire_at = timer.fire_at
    short = _sat_out(pass_, fire_at, max(ordinal, pass_.position))
    if timer is None:
        _new_timer(pass_, ordinal, fire_at, fired=short)
    elif short:
        fire(pass_, timer)
    if not short:
        raise pass_.leave(Suspended(_timer_wait(fire_at)))


def _sat_out(pass_: Pass, fire_at: datetime, position: int) -> bool:
    """Wait for *fire_at* here, if it is soon enough; whether it was."""
    remaining = fire_at - pass_.now()
    short = pass_.waits_here(remaining)
    if short and remaining > timedelta():
        _nothing_in_hand(pass_, position)
        clock.pause(remaining.total_seconds())
    return short


def _new_timer(pass_: Pass, ordinal: int, fire_at: datetime, *, fired: bool) -> None:
    pass_.pending.timers.append(
        NewTimer(sequence=ordinal, fire_at=fire_at, fired=fired)
    )
    if fired:
        pass_.pending.lines.append(Line(type="timer.fired", step=ordinal))


def fire(pass_: Pass, timer: TimerFacts) -> None:
    """Have a recorded timer, whose time has come, marked as fired."""
    pass_.pending.fired.append(timer.id)
    pass_.pending.lines.append(Line(type="timer.fired", step=timer.sequence))


def _nothing_in_hand(pass_: Pass, position: int) -> None:
    """Record the outcome in hand before the process merely sleeps."""
    if pass_.pending.held is not None:
        pass_.commit(
            lambda gathered: passes.commit_step(pass_.claim, gathered, None, position),
            position,
        )


def _timer_wait(fire_at: datetime) -> Wait:
    return Wait(
        wake_at=fire_at,
        kind="timer",
        name="",
        reason=f"sleeping until {fire_at:%Y-%m-%d %H:%M:%S} UTC",
    )


def interrupt(pass_: Pass, reason: str, annotation: Any) -> Any:
    """Pause until somebody resumes the run; the value that they gave, decoded."""
    ordinal, recorded = pass_.take("an interrupt", SideEffectFacts)
    if recorded is not None and recorded.kind is not SideEffectKind.INTERRUPT:
        raise pass_.mismatch(ordinal, "an interrupt")
    if recorded is None:
        pass_.pending.side_effects.append(
            NewSideEffect(
                sequence=ordinal, kind=SideEffectKind.INTERRUPT, key="", value=None
            )
        )
    if recorded is None or recorded.value is None:
        raise pass_.leave(Paused(reason))
    return pass_.decoded(recorded.value, annotation, "payload of the resume")

"""What a pass has decided since its last commit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from saga_flow.records import (
    Gathered,
    Line,
    Losers,
    NewChild,
    NewMarker,
    NewSideEffect,
    NewStep,
    NewTimer,
    Outcome,
    TakenSignal,
)


@dataclass(slots=True)
class Gathering:
    """Grows until a commit carries it; frozen as :class:`Gathered` for the store."""

    held: Outcome | None = None
    gave_up: list[int] = field(default_factory=list)
    side_effects: list[NewSideEffect] = field(default_factory=list)
    taken: list[TakenSignal] = field(default_factory=list)
    timed_out: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    timers: list[NewTimer] = field(default_factory=list)
    markers: list[NewMarker] = field(default_factory=list)
    steps: list[NewStep] = field(default_factory=list)
    children: list[NewChild] = field(default_factory=list)
    losers: list[Losers] = field(default_factory=list)
    tags: dict[str, str | None] = field(default_factory=dict)
    memo: str | None = None
    summary: str | None = None
    lines: list[Line] = field(default_factory=list)

    @property
    def waits(self) -> int:
        """How many ordinals nothing but a suspension records."""
        unfired = sum(not timer.fired for timer in self.timers)
        waits = len(self.markers) + len(self.steps) + len(self.children)
        return unfired + waits

    def gathered(self) -> Gathered:
        """All of it, frozen."""
        return Gathered(
            held=self.held,
            gave_up=tuple(self.gave_up),
            side_effects=tuple(self.side_effects),
            taken=tuple(self.taken),
            timed_out=tuple(self.timed_out),
            fired=tuple(self.fired),
            timers=tuple(self.timers),
            markers=tuple(self.markers),
            steps=tuple(self.steps),
            children=tuple(self.children),
            losers=tuple(self.losers),
            tags=dict(self.tags),
            memo=self.memo,
            summary=self.summary,
            lines=tuple(self.lines),
        )


def new_ordinals(gathered: Gathered) -> int:
    """How many ordinals are recorded by the commit that carries *gathered*."""
    early = sum(taken.marker is None for taken in gathered.taken)
    new = (
        gathered.side_effects,
        gathered.timers,
        gathered.markers,
        gathered.steps,
        gathered.children,
    )
    return early + sum(map(len, new))


def without_waits(gathered: Gathered) -> Gathered:
    """
    What holds whatever arrives meanwhile.

    All but new wait-markers, timers, children and queued steps, which only a
    suspension writes, and what is told of their ordinals.
    """
    gone = {marker.sequence for marker in gathered.markers}
    gone |= {step.sequence for step in gathered.steps}
    gone |= {child.sequence for child in gathered.children}
    gone |= {timer.sequence for timer in gathered.timers if not timer.fired}
    lines = tuple(line for line in gathered.lines if line.step not in gone)
    timers = tuple(timer for timer in gathered.timers if timer.fired)
    return replace(
        gathered, markers=(), timers=timers, steps=(), children=(), lines=lines
    )

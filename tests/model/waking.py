"""
Deliveries to a waiting run, hints that get lost, workers that die or break off.

Two deliveries, two workers. Whatever happens, a pass that read both of them must at
last suspend: then nothing that was accepted has been forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.explore import Model

DELIVERIES: Final = 2
HINTS: Final = 2
WORKERS: Final = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Each of them as docs/writes.md has it; False drops it."""

    delivery_bumps_the_inbox: bool = True
    """Row 20."""

    inbox_is_read_before_the_rows: bool = True
    """Row 4."""

    suspension_names_the_inbox: bool = True
    """Row 8."""

    a_claim_leaves_the_run_due: bool = True
    """Row 3."""

    a_lost_worker_is_free: bool = True
    """Row 24."""

    the_janitor_releases: bool = True
    """Row 23."""

    the_pulse_wakes: bool = True
    """Row 22."""


class Worker(NamedTuple):
    """What one worker is doing: idle, inbox, rows or suspend come next."""

    next: str = "idle"
    epoch: int = 0
    inbox: int = 0
    seen: int = 0
    """Deliveries among the rows that it has read."""

    alive: bool = True


class State(NamedTuple):
    """The run's row, the hints under way and the workers."""

    owner: int | None = None
    epoch: int = 0
    inbox: int = 0
    due: bool = False
    delivered: int = 0
    served: int = 0
    """Deliveries that the pass which suspended last had read."""

    hints: int = 0
    workers: tuple[Worker, ...] = (Worker(), Worker())
    may_die: bool = True
    may_break: bool = True


def model(rules: Rules) -> Model[State]:
    """The model under *rules*."""
    return Model(
        first=State(),
        moves=lambda state: _moves(rules, state),
        wrong=lambda _: (),
        unfinished=lambda state: state.served < DELIVERIES,
        losses=frozenset({"a hint is lost"}),
    )


def _moves(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    if state.delivered < DELIVERIES:
        yield (
            "a signal is delivered",
            state._replace(
                delivered=state.delivered + 1,
                inbox=state.inbox + rules.delivery_bumps_the_inbox,
                due=True,
                hints=min(state.hints + 1, HINTS),
            ),
        )
    if state.hints:
        yield "a hint is lost", state._replace(hints=state.hints - 1)
    if rules.the_pulse_wakes and state.due and not state.hints and _free(rules, state):
        yield "the pulse hints", state._replace(hints=1)
    for number in WORKERS:
        worker = state.workers[number]
        if worker.alive:
            yield from _of_worker(rules, state, number, worker)


def _free(rules: Rules, state: State) -> bool:
    if state.owner is None:
        return True
    return rules.a_lost_worker_is_free and not state.workers[state.owner].alive


def _of_worker(
    rules: Rules, state: State, number: int, worker: Worker
) -> Iterator[tuple[str, State]]:
    if worker.next == "idle":
        yield from _idle(rules, state, number, worker)
        return
    first, second = ("inbox", "rows")
    if not rules.inbox_is_read_before_the_rows:
        first, second = second, first
    then = "suspend" if worker.next == second else second
    match worker.next:
        case "inbox":
            read = worker._replace(next=then, inbox=state.inbox)
            yield f"{number} reads the inbox", _with(state, number, read)
        case "rows":
            read = worker._replace(next=then, seen=state.delivered)
            yield f"{number} reads the rows", _with(state, number, read)
        case _:
            yield from _suspend(rules, state, number, worker)
    if state.may_die:
        dead = _with(state, number, Worker(alive=False))
        yield f"{number} dies", dead._replace(may_die=False)
    if state.may_break:
        broken = _with(state, number, Worker())
        yield f"{number} breaks off its pass", broken._replace(may_break=False)


def _idle(
    rules: Rules, state: State, number: int, worker: Worker
) -> Iterator[tuple[str, State]]:
    if rules.the_janitor_releases and state.owner == number:
        yield f"{number} releases", state._replace(owner=None, due=True)
    if not state.hints:
        return
    heard = state._replace(hints=state.hints - 1)
    if not state.due or not _free(rules, state):
        yield f"{number} drops a stale hint", heard
        return
    claimed = heard._replace(
        owner=number,
        epoch=state.epoch + 1,
        due=rules.a_claim_leaves_the_run_due,
    )
    begun = worker._replace(next=_first(rules), epoch=claimed.epoch)
    yield f"{number} claims", _with(claimed, number, begun)


def _first(rules: Rules) -> str:
    return "inbox" if rules.inbox_is_read_before_the_rows else "rows"


def _suspend(
    rules: Rules, state: State, number: int, worker: Worker
) -> Iterator[tuple[str, State]]:
    if state.epoch != worker.epoch:
        yield f"{number} was outdone", _with(state, number, Worker())
    elif rules.suspension_names_the_inbox and state.inbox != worker.inbox:
        again = worker._replace(next=_first(rules))
        yield f"{number} reads again", _with(state, number, again)
    else:
        rested = state._replace(owner=None, due=False)
        rested = rested._replace(served=max(state.served, worker.seen))
        yield f"{number} suspends", _with(rested, number, Worker())


def _with(state: State, number: int, worker: Worker) -> State:
    workers = list(state.workers)
    workers[number] = worker
    return state._replace(workers=tuple(workers))

"""
An atomic step, whoever cancels its run, takes it over, or settles its attempt.

Two workers may hold the run one after the other, and the first may still be in its
body. Whatever happens, the effect is there once if the step is completed, and not at
all otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.explore import Model

WORKERS: Final = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Each of them as docs/writes.md has it; False drops it."""

    the_guard_comes_after_the_body: bool = True
    """Row 27: not before it."""

    the_outcome_is_in_the_transaction: bool = True
    """Row 27: it commits with the effect, not after it."""

    the_outcome_names_its_claim: bool = True
    """Row 27: with the lease, two locks on one door."""

    the_guard_names_the_lease: bool = True
    """Row 27."""

    a_refusal_rolls_back: bool = True
    """Row 27: zero rows undo the body."""

    an_unknown_commit_is_looked_up: bool = True
    """Before the body is called again."""


EITHER: Final = frozenset({"the_outcome_names_its_claim", "the_guard_names_the_lease"})
"""Two locks on one door: here it takes both to be dropped."""


class Worker(NamedTuple):
    """What one worker does next, and under which lease."""

    next: str = "idle"
    epoch: int = 0
    passed: bool = False
    """Whether a guard before the body let it through."""


class State(NamedTuple):
    """The run's row, its step's, the effects that stand, and the workers."""

    status: str = "running"
    epoch: int = 0
    step: str = "pending"
    token: int = 0
    effects: int = 0
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    may_die: bool = True
    may_be_unknown: bool = True


def model(rules: Rules) -> Model[State]:
    """The model under *rules*."""
    return Model(
        first=State(),
        moves=lambda state: _moves(rules, state),
        wrong=_wrong,
        unfinished=lambda state: state.status == "running" and state.step != "done",
        losses=frozenset({"somebody cancels", "a worker dies"}),
    )


def _moves(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    if state.status == "running":
        left = "cancelled" if state.step != "done" else "done"
        yield (
            "somebody cancels",
            state._replace(status="cancelled", epoch=state.epoch + 1, step=left),
        )
    for number in WORKERS:
        worker = state.workers[number]
        if worker.next == "idle":
            yield from _claim(state, number)
            continue
        yield from _of_worker(rules, state, number, worker)
        if state.may_die:
            dead = _with(state, number, Worker())
            yield "a worker dies", dead._replace(may_die=False)


def _claim(state: State, number: int) -> Iterator[tuple[str, State]]:
    """Rows 5 and 25: the start is committed before the body."""
    other = state.workers[1 - number]
    # at most one take-over from a worker that is only thought to be dead
    may_claim = other.next == "idle" or state.epoch < len(WORKERS)
    if state.status == "running" and state.step != "done" and may_claim:
        epoch = state.epoch + 1
        claimed = state._replace(epoch=epoch, step="running", token=epoch)
        begun = Worker(next="body", epoch=epoch)
        yield f"{number} claims the step", _with(claimed, number, begun)


def _of_worker(
    rules: Rules, state: State, number: int, worker: Worker
) -> Iterator[tuple[str, State]]:
    match worker.next:
        case "body":
            seen = worker._replace(next="commit", passed=_holds(rules, state, worker))
            yield f"{number} is in its body", _with(state, number, seen)
        case "commit":
            yield from _commit(rules, state, number, worker)
        case _:
            yield _record(rules, state, number, worker)


def _holds(rules: Rules, state: State, worker: Worker) -> bool:
    """The guard on the run's row and the claim on the step's."""
    leased = state.epoch == worker.epoch or not rules.the_guard_names_the_lease
    claimed = state.step == "running" and state.token == worker.epoch
    claimed = claimed or not rules.the_outcome_names_its_claim
    return state.status == "running" and leased and claimed


def _commit(
    rules: Rules, state: State, number: int, worker: Worker
) -> Iterator[tuple[str, State]]:
    """The end of the transaction: what stands, and what its worker does next."""
    lets_in = worker.passed
    if rules.the_guard_comes_after_the_body:
        lets_in = _holds(rules, state, worker)
    if not lets_in:
        kept = 0 if rules.a_refusal_rolls_back else 1
        after = state._replace(effects=state.effects + kept)
        yield f"{number} is refused", _with(after, number, Worker())
        return
    done = state._replace(effects=state.effects + 1)
    if not rules.the_outcome_is_in_the_transaction:
        then = worker._replace(next="record")
        yield f"{number} commits its effect alone", _with(done, number, then)
        return
    if state.step != "cancelled":
        done = done._replace(step="done")
    yield f"{number} commits", _with(done, number, Worker())
    if state.may_be_unknown:
        # it took place, and nobody says so
        again = Worker() if rules.an_unknown_commit_is_looked_up else worker
        heard = _with(done, number, again)._replace(may_be_unknown=False)
        if not rules.an_unknown_commit_is_looked_up:
            heard = heard._replace(step="running")
        yield f"{number} hears nothing of its commit", heard


def _record(
    rules: Rules, state: State, number: int, worker: Worker
) -> tuple[str, State]:
    done = state
    if _holds(rules, state, worker):
        done = state._replace(step="done")
    return f"{number} records the outcome", _with(done, number, Worker())


def _wrong(state: State) -> Iterator[str]:
    if state.effects > 1:
        yield "an effect stands twice"
    if state.effects and state.step == "cancelled":
        yield "an effect stands without its outcome"
    if state.step == "done" and not state.effects:
        yield "an outcome stands without its effect"


def _with(state: State, number: int, worker: Worker) -> State:
    first, second = state.workers
    pair = (worker, second) if number == 0 else (first, worker)
    return state._replace(workers=pair)

"""
A pass with two inline steps, a command that rolls the run back, and who drives that.

Any of them may be overtaken by the others: the pass's outcome comes late, a sweep
settles its attempt from outside, its worker dies, the driver parks while a step is in
flight, and dies too. At the end every effect is undone or listed, and no undo is left
lying.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.explore import Model

NOT_TO_COUNT_ON: Final = frozenset(
    {
        "the pass's worker dies",
        "the driver dies",
        # not every step has a time limit
        "step 0 is timed out",
        "step 1 is timed out",
    }
)
UNDOABLE: Final = frozenset({"pending", "running"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Each of them as docs/writes.md has it; False drops it."""

    an_outcome_is_written_alone: bool = True
    """Row 6: where the commit that should have carried it was refused."""

    a_late_outcome_joins_the_plan: bool = True
    """Row 6, under cancelling."""

    a_late_outcome_wakes_the_rollback: bool = True
    """Row 6, under cancelling."""

    a_refused_outcome_is_listed: bool = True
    """Row 7."""

    a_lost_worker_wakes_the_rollback: bool = True
    """Row 22, for the rollback that waits for its step."""

    a_lost_driver_is_free: bool = True
    """Row 24."""

    taking_it_leaves_it_due: bool = True
    """Row 30."""

    parking_names_the_inbox: bool = True
    """Row 33."""

    closing_names_the_inbox: bool = True
    """Row 34."""

    closing_lists_what_still_runs: bool = True
    """Row 34."""

    settling_from_outside_raises_the_epoch: bool = True
    """Row 29."""

    a_commit_is_all_or_nothing: bool = True
    """Row 5: a start does not stand without the outcome that goes with it."""


EITHER: Final = frozenset(
    {"settling_from_outside_raises_the_epoch", "a_commit_is_all_or_nothing"}
)
"""Two locks on one door: here it takes both to be dropped."""


class Step(NamedTuple):
    """One inline step, its undo, and what is known of its effect."""

    status: str = ""
    token: int = 0
    took_effect: bool = False
    undo: str = ""
    listed: bool = False
    forgotten: bool = False
    """Its outcome came, and was neither recorded nor listed."""


class State(NamedTuple):
    """The run's row, its steps, and what its pass and its driver are about to do."""

    status: str = "running"
    epoch: int = 1
    inbox: int = 0
    driven: bool = False
    """Whether the rollback's lease is taken."""

    due: bool = False
    steps: tuple[Step, Step] = (Step(), Step())
    pass_next: str = "start 0"
    pass_alive: bool = True
    driver_next: str = "idle"
    driver_inbox: int = 0
    driver_alive: bool = True
    drivers_to_die: int = 2
    may_time_out: bool = True


PASS_EPOCH: Final = 1


def model(rules: Rules) -> Model[State]:
    """The model under *rules*."""
    return Model(
        first=State(),
        moves=lambda state: _moves(rules, state),
        wrong=_wrong,
        unfinished=lambda state: state.status == "cancelling",
        losses=NOT_TO_COUNT_ON,
    )


def _moves(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    if state.pass_alive and state.pass_next:
        yield from _of_pass(rules, state)
        if not state.pass_next.startswith("start"):
            dead = state._replace(pass_alive=False, pass_next="")
            yield "the pass's worker dies", dead
    if state.status == "running":
        yield "somebody rolls it back", _enter(state)
    if state.may_time_out:
        yield from _time_out(rules, state)
    if state.status == "cancelling":
        yield from _of_rollback(rules, state)


# ------------------------------------------------------------------- the pass


def _of_pass(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    what, number = state.pass_next.split()
    at = int(number)
    match what:
        case "start":
            yield _start_first(state)
        case "body":
            done = state.steps[at]._replace(took_effect=True)
            after = _with(state, at, done)._replace(pass_next=f"commit {at}")
            yield f"body {at}", after
        case _:
            yield _commit(rules, state, at)


def _holds(state: State) -> bool:
    return state.status == "running" and state.epoch == PASS_EPOCH


def _start_first(state: State) -> tuple[str, State]:
    if not _holds(state):
        return "the pass is outdone", state._replace(pass_next="")
    begun = _with(state, 0, Step(status="running", token=PASS_EPOCH))
    return "step 0 starts", begun._replace(pass_next="body 0")


def _commit(rules: Rules, state: State, at: int) -> tuple[str, State]:
    """Row 5 after step 0, row 11 after step 1; else row 6, else row 7."""
    step = state.steps[at]
    claimed = step.status == "running" and step.token == PASS_EPOCH
    wants_claim = at == 1 or rules.a_commit_is_all_or_nothing
    if _holds(state) and (claimed or not wants_claim):
        if claimed:
            state = _with(state, at, step._replace(status="completed"))
        if at == 1:
            return "it completes", state._replace(status="completed", pass_next="")
        begun = _with(state, 1, Step(status="running", token=PASS_EPOCH))
        return "step 1 starts", begun._replace(pass_next="body 1")
    state = state._replace(pass_next="")
    if not rules.an_outcome_is_written_alone:
        dropped = step._replace(forgotten=True)
        return f"outcome {at} is dropped", _with(state, at, dropped)
    if not claimed or state.status not in {"running", "cancelling"}:
        listed = rules.a_refused_outcome_is_listed
        told = step._replace(listed=step.listed or listed, forgotten=not listed)
        return f"outcome {at} is refused", _with(state, at, told)
    return f"outcome {at} is written alone", _late(rules, state, at)


def _late(rules: Rules, state: State, at: int) -> State:
    done = state.steps[at]._replace(status="completed")
    rolling_back = state.status == "cancelling"
    if rolling_back and rules.a_late_outcome_joins_the_plan:
        done = done._replace(undo=done.undo or "pending")
    wakes = rolling_back and rules.a_late_outcome_wakes_the_rollback
    after = _with(state, at, done)
    return after._replace(inbox=state.inbox + 1, due=state.due or wakes)


# -------------------------------------------------------------- from outside


def _enter(state: State) -> State:
    """Row 14."""
    for at, step in enumerate(state.steps):
        if step.status == "completed":
            state = _with(state, at, step._replace(undo="pending"))
    return state._replace(status="cancelling", epoch=state.epoch + 1, due=True)


def _time_out(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    """Row 29, of an inline attempt that is the last one."""
    for at, step in enumerate(state.steps):
        if step.status == "running" and state.status in {"running", "cancelling"}:
            failed = step._replace(status="failed", token=0, listed=True)
            after = _with(state, at, failed)._replace(
                inbox=state.inbox + 1, due=True, may_time_out=False
            )
            if rules.settling_from_outside_raises_the_epoch:
                after = after._replace(epoch=state.epoch + 1, driven=False)
            yield f"step {at} is timed out", after


# ------------------------------------------------------------- the rollback


def _of_rollback(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    in_flight = any(step.status == "running" for step in state.steps)
    wakes = rules.a_lost_worker_wakes_the_rollback and not state.due
    if wakes and in_flight and not state.pass_alive:
        yield "the pulse finds the worker lost", state._replace(due=True)
    lost = state.driven and not state.driver_alive
    if state.due and (not state.driven or (lost and rules.a_lost_driver_is_free)):
        yield (
            "a driver takes it",
            state._replace(
                epoch=state.epoch + 1,
                driven=True,
                driver_alive=True,
                driver_next="inbox",
                due=rules.taking_it_leaves_it_due,
            ),
        )
    elif state.driven and state.driver_alive:
        yield from _of_driver(rules, state)
        if state.drivers_to_die:
            yield "the driver dies", _dies(state)


def _dies(state: State) -> State:
    return state._replace(
        driver_alive=False,
        driver_next="idle",
        driver_inbox=0,
        drivers_to_die=state.drivers_to_die - 1,
    )


def _of_driver(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    what, _, number = state.driver_next.partition(" ")
    match what:
        case "inbox":
            read = state._replace(driver_inbox=state.inbox, driver_next="drain")
            yield "the driver reads the inbox", read
        case "drain":
            yield from _drain(state)
        case "park":
            yield _park(rules, state)
        case "plan":
            yield _next_undo(state)
        case "undo":
            at = int(number)
            done = _with(state, at, state.steps[at]._replace(undo="done"))
            after = done._replace(inbox=state.inbox + 1, driver_next="inbox")
            yield f"undo {at} is done", after
        case _:
            yield _close(rules, state)


def _drain(state: State) -> Iterator[tuple[str, State]]:
    in_flight = [at for at in (0, 1) if state.steps[at].status == "running"]
    if not in_flight:
        yield "nothing is in flight", state._replace(driver_next="plan")
    elif state.pass_alive:
        yield "a step is in flight", state._replace(driver_next="park")
        yield "the drain limit is over", state._replace(driver_next="plan")
    else:
        [at] = in_flight
        lost = state.steps[at]._replace(status="failed", listed=True)
        after = _with(state, at, lost)._replace(driver_next="inbox")
        yield f"step {at} is given up as lost", after


def _park(rules: Rules, state: State) -> tuple[str, State]:
    if rules.parking_names_the_inbox and state.inbox != state.driver_inbox:
        return "it may not park", state._replace(driver_next="inbox")
    parked = state._replace(driven=False, due=False, driver_next="idle")
    return "the driver parks", parked


def _next_undo(state: State) -> tuple[str, State]:
    for at in (1, 0):
        step = state.steps[at]
        if step.undo in UNDOABLE:
            begun = _with(state, at, step._replace(undo="running"))
            return f"undo {at} starts", begun._replace(driver_next=f"undo {at}")
    return "nothing is left to undo", state._replace(driver_next="close")


def _close(rules: Rules, state: State) -> tuple[str, State]:
    if rules.closing_names_the_inbox and state.inbox != state.driver_inbox:
        return "it may not close", state._replace(driver_next="inbox")
    lists = rules.closing_lists_what_still_runs
    for at, step in enumerate(state.steps):
        if step.status == "running":
            left = step._replace(status="cancelled", listed=step.listed or lists)
            state = _with(state, at, left)
    closed = state._replace(status="cancelled", driver_next="idle")
    return "it is closed", closed._replace(driven=False, due=False)


# ------------------------------------------------------------ what is wrong


def _wrong(state: State) -> Iterator[str]:
    first, second = state.steps
    going_on = state.status == "running" and second.status == "running"
    if going_on and first.status != "completed":
        yield "a step began before the one ahead of it had an outcome"
    if any(step.forgotten for step in state.steps):
        yield "an outcome came that nobody knows of"
    if state.status == "cancelled" and not state.pass_next:
        for step in state.steps:
            yield from _left(step)


def _left(step: Step) -> Iterator[str]:
    if step.undo in UNDOABLE:
        yield "an undo is left under a closed run"
    if step.took_effect and step.undo != "done" and not step.listed:
        yield "an effect is neither undone nor listed"


def _with(state: State, at: int, step: Step) -> State:
    first, second = state.steps
    return state._replace(steps=(step, second) if at == 0 else (first, step))

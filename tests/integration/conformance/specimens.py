"""
One small workflow for each thing that a run can do, and how it is played.

Bodies write into a ledger in this process, so that they cost no database write and
show every time that they were really called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from saga_flow import (
    QUEUE,
    RESULT,
    WAIT_ALL,
    Retry,
    Workflow,
    action,
    current_step,
    flows,
)
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.members import CONTINUE, STOP
from saga_flow.exceptions import ActionFailed, CompensationFailed, SignalTimedOut
from saga_flow.models import ActionRun
from saga_flow.states import ActionStatus
from tests.zoo.actions import took_place as leave_row
from tests.zoo.models import Effect as Row

LONG = timedelta(hours=1)
SHORT = timedelta(milliseconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One call of a body."""

    instance_id: str
    what: str
    sequence: int
    key: str
    attempt: int
    late: bool
    """Whether the step had its outcome recorded already: it must never be."""

    whole: bool = False
    """Whether it is a row that is committed with its outcome."""


ledger: list[Effect] = []


def took_place(what: str, *, whole: bool = False) -> None:
    """Write into the ledger that the current body was called."""
    step = current_step()
    recorded = ActionRun.objects.filter(
        run_id=step.run_id, sequence=step.sequence, status=ActionStatus.COMPLETED
    )
    undo = step.idempotency_key.endswith(":undo")
    ledger.append(
        Effect(
            instance_id=step.instance_id,
            what=what,
            sequence=step.sequence,
            key=step.idempotency_key,
            attempt=step.attempt,
            late=not undo and recorded.exists(),
            whole=whole,
        )
    )


class Declined(Exception):
    """What a step that is meant to fail raises."""


@action(name="specimen.take_back")
def take_back(what: str, result: str | None = None) -> None:
    """Undo *what*."""
    took_place(f"undo {what} {result}")


@action(name="specimen.stick", retry=Retry(attempts=2))
def stick(what: str) -> None:
    """Never manage to undo *what*."""
    took_place(f"stuck {what}")
    raise Declined(what)


@action(name="specimen.relent", retry=Retry(attempts=2))
def relent(what: str) -> None:
    """Undo *what* at the second try."""
    took_place(f"undo {what}")
    if current_step().attempt == 1:
        raise Declined(what)


@action(name="specimen.relent_late", retry=Retry(attempts=2, delay=LONG / 12))
def relent_late(what: str) -> None:
    """Undo *what* at the second try, after long."""
    took_place(f"undo {what}")
    if current_step().attempt == 1:
        raise Declined(what)


@action(name="specimen.note")
def note(what: str) -> str:
    """Do *what*."""
    took_place(what)
    return f"{what} done"


@action(name="specimen.enter", atomic=True)
def enter(what: str) -> str:
    """Do *what* by a row that is there once its outcome is."""
    took_place(what, whole=True)
    leave_row(what)
    return f"{what} entered"


@action(name="specimen.strike", atomic=True)
def strike(what: str, result: str) -> None:
    """Undo *what* by another such row."""
    took_place(f"strike {what}", whole=True)
    leave_row(f"strike {what}")


@action(name="specimen.decline")
def decline(what: str) -> None:
    """Do half of *what*, then fail."""
    took_place(what)
    raise Declined(what)


@action(name="specimen.falter")
def falter(what: str, times: int) -> str:
    """Fail *times* times, then do *what*."""
    took_place(what)
    if current_step().attempt <= times:
        raise Declined(what)
    return f"{what} done"


class Stage(Protocol):
    """Where a specimen is played: who drives it, and on what clock."""

    instance_id: str

    def ask(self, command: Callable[[Handle[Any]], object]) -> None:
        """Have somebody outside send a command."""

    def pass_time(self, by: timedelta) -> None:
        """Let *by* go by."""


Move = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A workflow, how it is started, and what happens to it while it waits."""

    name: str
    flow: type[Workflow]
    options: Mapping[str, Any] = field(default_factory=dict)
    reserved: bool = False
    in_any_order: bool = False
    """Bodies stand side by side: which of them comes first is nobody's promise."""

    early: tuple[Move, ...] = ()
    """What happens before anybody has driven it."""

    moves: tuple[Move, ...] = ()
    """What happens whenever it has come to rest."""


def send(name: str, payload: object) -> Move:
    """Deliver a signal."""
    return lambda stage: stage.ask(lambda handle: handle.signal(name, payload))


def later(by: timedelta) -> Move:
    """Let time go by."""
    return lambda stage: stage.pass_time(by)


def ask(command: str, *arguments: object) -> Move:
    """Send a command by the name of the handle's method."""
    return lambda stage: stage.ask(lambda handle: getattr(handle, command)(*arguments))


class Straight(Workflow):
    """Steps one after another."""

    class Meta:
        """Its name."""

        name = "specimen.straight"

    def handle(self) -> str:
        """Three steps."""
        for what in ("one", "two"):
            self.action(note, what).run()
        return self.action(note, "three").run()


class Retried(Workflow):
    """A step that succeeds at its third try, at once."""

    class Meta:
        """Its name."""

        name = "specimen.retried"

    def handle(self) -> str:
        """Falter twice."""
        return self.action(falter.using(retry=Retry(attempts=3)), "pay", 2).run()


class RetriedSoon(Workflow):
    """A short delay is sat out in the pass."""

    class Meta:
        """Its name."""

        name = "specimen.retried_soon"

    def handle(self) -> str:
        """Falter once, between two steps."""
        self.action(note, "before").run()
        retry = Retry(attempts=2, delay=SHORT)
        return self.action(falter.using(retry=retry), "pay", 1).run()


class RetriedLater(Workflow):
    """A long delay gives the run up."""

    class Meta:
        """Its name."""

        name = "specimen.retried_later"

    def handle(self) -> str:
        """Falter once, for long."""
        retry = Retry(attempts=2, delay=LONG)
        return self.action(falter.using(retry=retry), "pay", 1).run()


class Optional(Workflow):
    """A step that may fail."""

    class Meta:
        """Its name."""

        name = "specimen.optional"

    def handle(self) -> str:
        """Go on with the fallback."""
        got = self.action(decline, "extra").optional("nothing").run()
        self.action(note, f"with {got}").run()
        return str(got)


class RolledBack(Workflow):
    """Three steps, each with its undo, then a failure."""

    class Meta:
        """Its name."""

        name = "specimen.rolled_back"

    def handle(self) -> None:
        """Fail at the end."""
        for what in ("book", "charge", "send"):
            self.action(note, what).compensate_with(take_back, what, RESULT).run()
        self.action(decline, "last").run()


class Stuck(Workflow):
    """The second undo fails, which stops the rollback."""

    class Meta:
        """Its name."""

        name = "specimen.stuck"

    def handle(self) -> None:
        """Fail at the end."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        charge = self.action(note, "charge").compensate_with(stick, "charge")
        charge.on_compensation_failure(STOP).run()
        self.action(note, "send").compensate_with(take_back, "send").run()
        self.action(decline, "last").run()


class StuckGoesOn(Workflow):
    """The second undo fails, and the first is done all the same."""

    class Meta:
        """Its name."""

        name = "specimen.stuck_goes_on"

    def handle(self) -> None:
        """Fail at the end."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        charge = self.action(note, "charge").compensate_with(stick, "charge")
        charge.on_compensation_failure(CONTINUE).run()
        self.action(decline, "last").run()


class OwnFailure(Workflow):
    """A step that failed is itself undone."""

    class Meta:
        """Its name."""

        name = "specimen.own_failure"

    def handle(self) -> None:
        """Fail in a step with an undo."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        charge = self.action(decline, "charge")
        charge = charge.compensate_with(take_back, "charge", RESULT)
        charge.compensate_on_own_failure().run()


class Caught(Workflow):
    """A failure that the workflow deals with."""

    class Meta:
        """Its name."""

        name = "specimen.caught"

    def handle(self) -> str:
        """Take the other way."""
        try:
            self.action(decline, "first way").run()
        except ActionFailed as error:
            return self.action(note, f"second way after {error.type}").run()
        return "no"


class Approved(Workflow):
    """A signal between two steps, of which the first can be undone."""

    class Meta:
        """Its name."""

        name = "specimen.approved"

    def handle(self) -> str:
        """Wait for a word."""
        self.action(note, "ask").compensate_with(take_back, "ask").run()
        word = self.signal("word", str).wait(timeout=24 * LONG)
        return self.action(note, word).run()


class ApprovedAtOnce(Workflow):
    """A signal that is there before anybody waits for it."""

    class Meta:
        """Its name."""

        name = "specimen.approved_at_once"

    def handle(self) -> str:
        """Take two words in the order in which they came."""
        first = self.signal("word", str).wait()
        self.action(note, first).run()
        return first + " " + self.signal("word", str).wait()


class TimedOut(Workflow):
    """A signal that does not come."""

    class Meta:
        """Its name."""

        name = "specimen.timed_out"

    def handle(self) -> str:
        """Go on without the word."""
        try:
            return self.signal("word", str).wait(timeout=LONG)
        except SignalTimedOut:
            return self.action(note, "no word").run()


class Slept(Workflow):
    """A short sleep and a long one, each between steps."""

    class Meta:
        """Its name."""

        name = "specimen.slept"

    def handle(self) -> str:
        """Sleep twice."""
        self.action(note, "evening").run()
        self.sleep(SHORT)
        self.action(note, "night").run()
        self.sleep(LONG)
        return self.action(note, "morning").run()


class Napped(Workflow):
    """A sleep that is sat out in the pass."""

    class Meta:
        """Its name."""

        name = "specimen.napped"

    def handle(self) -> str:
        """Sleep briefly."""
        self.action(note, "before").run()
        self.sleep(SHORT)
        return self.action(note, "after").run()


class Valued(Workflow):
    """Values that are recorded once."""

    class Meta:
        """Its name."""

        name = "specimen.valued"

    def handle(self) -> int:
        """Ask for one of each kind, and go through a wait with them."""
        self.now()
        self.uuid4()
        number = self.side_effect("answer", _answer)
        self.action(note, "between").run()
        self.random()
        return number + self.signal("more", int).wait()


def _answer() -> int:
    return 42


class Asked(Workflow):
    """A run that pauses itself until a person answers."""

    class Meta:
        """Its name."""

        name = "specimen.asked"

    def handle(self) -> str:
        """Ask between two steps."""
        self.action(note, "before").run()
        answer = self.interrupt("have a look", str)
        return self.action(note, answer).run()


class Labelled(Workflow):
    """Tags, memo and summary, before and after a wait."""

    class Meta:
        """Its name."""

        name = "specimen.labelled"

    def handle(self) -> None:
        """Say what is going on."""
        self.tag("stage", "first")
        self.memo(seen=1)
        self.summary("begun")
        self.action(note, "one").run()
        self.tag("stage", "second")
        self.memo(seen=2, more="x")
        self.signal("go").wait()
        self.tag("stage", "third")
        self.summary("done")


class Whole(Workflow):
    """Steps that commit with their outcome, alone and in a row."""

    class Meta:
        """Its name."""

        name = "specimen.whole"

    def handle(self) -> str:
        """Enter thrice, with another step between."""
        self.action(enter, "one").run()
        self.action(note, "between").run()
        self.action(enter, "two").run()
        return self.action(enter, "three").run()


class WholeOfItsOwn(Workflow):
    """A step with a job of its own that commits with its outcome."""

    class Meta:
        """Its name."""

        name = "specimen.whole_of_its_own"

    def handle(self) -> str:
        """Enter elsewhere, and once more at the end."""
        self.action(enter.using(dispatch=QUEUE), "one").run()
        self.action(note, "between").run()
        return self.action(enter.using(dispatch=QUEUE), "two").run()


class WholeRolledBack(Workflow):
    """Undos that commit with their outcome."""

    class Meta:
        """Its name."""

        name = "specimen.whole_rolled_back"

    def handle(self) -> None:
        """Enter twice and fail."""
        self.action(enter, "one").compensate_with(strike, "one", RESULT).run()
        two = self.action(enter.using(dispatch=QUEUE), "two")
        two.compensate_with(strike, "two", RESULT).run()
        self.action(decline, "last").run()


class OfItsOwn(Workflow):
    """A step with a job of its own between two that have none."""

    class Meta:
        """Its name."""

        name = "specimen.of_its_own"

    def handle(self) -> str:
        """Three steps, and another job of its own at the end."""
        self.action(note, "before").run()
        done = self.action(note.using(dispatch=QUEUE), "middle").run()
        self.action(note, f"after {done}").run()
        return self.action(note.using(dispatch=QUEUE), "last").run()


class OfItsOwnRetried(Workflow):
    """A step with a job of its own that is tried again at once, and later."""

    class Meta:
        """Its name."""

        name = "specimen.of_its_own_retried"

    def handle(self) -> str:
        """Falter at once, then for long."""
        at_once = falter.using(dispatch=QUEUE, retry=Retry(attempts=3))
        self.action(at_once, "first", 2).run()
        later = falter.using(dispatch=QUEUE, retry=Retry(attempts=2, delay=LONG))
        return self.action(later, "second", 1).run()


class OfItsOwnFailed(Workflow):
    """A step with a job of its own fails; what was done is undone."""

    class Meta:
        """Its name."""

        name = "specimen.of_its_own_failed"

    def handle(self) -> None:
        """Fail at the end, and undo the failed step too."""
        self.action(note, "book").compensate_with(take_back, "book", RESULT).run()
        charge = self.action(note.using(dispatch=QUEUE), "charge")
        charge.compensate_with(take_back, "charge", RESULT).run()
        last = self.action(decline.using(dispatch=QUEUE), "last")
        last.compensate_with(take_back, "last").compensate_on_own_failure().run()


class SideBySide(Workflow):
    """Members that all complete, one of them at its second try."""

    class Meta:
        """Its name."""

        name = "specimen.side_by_side"

    def handle(self) -> list[str]:
        """Book everything, then go on."""
        soon = falter.using(retry=Retry(attempts=2))
        members = [self.action(note, "bed"), self.action(soon, "seat", 1)]
        found = self.parallel(*members).run()
        return [*found, self.action(note, "after").run()]


class AllSettle(Workflow):
    """One of three fails, the others are undone once all have settled."""

    class Meta:
        """Its name."""

        name = "specimen.all_settle"

    def handle(self) -> None:
        """Book three."""
        self.action(note, "first").compensate_with(take_back, "first").run()
        bed = self.action(note, "bed").compensate_with(take_back, "bed", RESULT)
        seat = self.action(decline, "seat").compensate_with(take_back, "seat")
        meal = self.action(note, "meal").compensate_with(take_back, "meal", RESULT)
        self.parallel(bed, seat, meal, policy=WAIT_ALL).run()


class FailsFast(Workflow):
    """A failure closes a wait, and the workflow goes another way."""

    class Meta:
        """Its name."""

        name = "specimen.fails_fast"

    def handle(self) -> str:
        """Take the other way."""
        try:
            self.parallel(self.action(decline, "seat"), self.signal("never")).run()
        except ActionFailed as error:
            return self.action(note, f"other way than {error.sequence}").run()
        return "no"


class Mapped(Workflow):
    """So many of one kind, so many at a time."""

    class Meta:
        """Its name."""

        name = "specimen.mapped"

    def handle(self) -> list[str]:
        """Five, two at a time."""
        return self.map(note, ["a", "b", "c", "d", "e"], limit=2)


class Raced(Workflow):
    """Blocks in a block: a word, or the time; a step, or never."""

    class Meta:
        """Its name."""

        name = "specimen.raced"

    def handle(self) -> list[Any]:
        """Wait for both."""
        asked = self.first(self.signal("word", str), self.timer(LONG))
        done = self.first(self.signal("never"), self.action(note, "seat"))
        return list(self.parallel(asked, done).run())


class UndoneInside(Workflow):
    """Everything is undone in the middle, and what comes later at the end."""

    class Meta:
        """Its name."""

        name = "specimen.undone_inside"

    def handle(self) -> None:
        """Undo, carry on, and fail."""
        for what in ("book", "charge"):
            self.action(note, what).compensate_with(take_back, what, RESULT).run()
        self.compensate()
        self.action(note, "other").compensate_with(take_back, "other").run()
        self.action(decline, "last").run()


class UndoneInsideStuck(Workflow):
    """An undo of the middle fails for good, and the workflow is told."""

    class Meta:
        """Its name."""

        name = "specimen.undone_inside_stuck"

    def handle(self) -> str:
        """Undo as far as it goes, and carry on."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        self.action(note, "charge").compensate_with(stick, "charge").run()
        self.action(note, "send").compensate_with(take_back, "send").run()
        try:
            self.compensate()
        except CompensationFailed as error:
            return self.action(note, f"left {list(error.left)}").run()
        return "no"


class Errand(Workflow):
    """What a parent has done by a run of its own."""

    class Meta:
        """Its name."""

        name = "specimen.errand"

    def handle(self, what: str) -> str:
        """Do it, or fail."""
        if what == "no":
            self.action(decline, what).run()
        return self.action(note, what).run()


class Parented(Workflow):
    """A child that completes, one that fails, and an undo for what came before."""

    class Meta:
        """Its name."""

        name = "specimen.parented"

    def handle(self) -> str:
        """Have two errands run."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        first = self.child(Errand, "fetch").run()
        second = self.child(Errand, "no").continue_on_failure().run()
        self.action(note, f"{first}, {second}").run()
        self.child(Errand, "no").run()
        return "not reached"


class OfItsOwnOptional(Workflow):
    """A step with a job of its own that may fail."""

    class Meta:
        """Its name."""

        name = "specimen.of_its_own_optional"

    def handle(self) -> str:
        """Go on with the fallback."""
        extra = self.action(decline.using(dispatch=QUEUE), "extra")
        got = extra.optional("nothing").run()
        self.action(note, f"with {got}").run()
        return str(got)


class OfItsOwnLater(Workflow):
    """A step with a job of its own that waits for its second try."""

    class Meta:
        """Its name."""

        name = "specimen.of_its_own_later"

    def handle(self) -> str:
        """Falter, for long and more often than anybody waits for."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        later = falter.using(dispatch=QUEUE, retry=Retry(attempts=9, delay=LONG))
        return self.action(later, "pay", 8).compensate_with(take_back, "pay").run()


class Grouped(Workflow):
    """A group in a group, and what each says of undos; then a failure."""

    class Meta:
        """Its name."""

        name = "specimen.grouped"

    def handle(self) -> None:
        """Fail in the group, with a failed undo that does not stop the rollback."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        charge = self.action(note, "charge").compensate_with(stick, "charge")
        last = self.action(decline, "last").compensate_with(take_back, "last")
        self.saga(
            self.saga(charge, self.action(note, "plain")),
            last,
            on_compensation_failure=CONTINUE,
            compensate_on_own_failure=True,
        ).run()


class Beside(Workflow):
    """Undos of one level, of which one needs a second try, between two others."""

    class Meta:
        """Its name."""

        name = "specimen.beside"

    def handle(self) -> None:
        """Fail at the end."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        self.saga(
            self.action(note, "a").compensate_with(take_back, "a", RESULT),
            self.action(note, "b").compensate_with(relent, "b"),
            self.saga(self.action(note, "c").compensate_with(take_back, "c")),
            compensate_in_parallel=True,
        ).run()
        self.action(note, "send").compensate_with(take_back, "send").run()
        self.action(decline, "last").run()


class BesideLater(Workflow):
    """An undo of a level that waits for its second try."""

    class Meta:
        """Its name."""

        name = "specimen.beside_later"

    def handle(self) -> None:
        """Fail at the end."""
        self.saga(
            self.action(note, "a").compensate_with(take_back, "a"),
            self.action(note, "b").compensate_with(relent_late, "b"),
            compensate_in_parallel=True,
        ).run()
        self.action(decline, "last").run()


class BesideStuck(Workflow):
    """An undo of a level fails, the others of it are done, and then it stops."""

    class Meta:
        """Its name."""

        name = "specimen.beside_stuck"

    def handle(self) -> None:
        """Fail at the end."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        self.saga(
            self.action(note, "a").compensate_with(take_back, "a"),
            self.action(note, "b").compensate_with(stick, "b"),
            self.action(note, "c").compensate_with(take_back, "c"),
            compensate_in_parallel=True,
        ).run()
        self.action(decline, "last").run()


class Added(Workflow):
    """An undo for what no step has done, between the undos of two steps."""

    class Meta:
        """Its name."""

        name = "specimen.added"

    def handle(self) -> None:
        """Fail after a wait."""
        self.action(note, "book").compensate_with(take_back, "book").run()
        self.side_effect("otherwise", _answer)
        self.add_compensation(take_back, "otherwise", result="all")
        self.action(note, "send").compensate_with(take_back, "send").run()
        self.signal("more", int).wait()
        self.action(decline, "last").run()


ALL = (
    Specimen(name="straight", flow=Straight),
    Specimen(name="retried", flow=Retried),
    Specimen(name="retried_soon", flow=RetriedSoon),
    Specimen(name="retried_later", flow=RetriedLater, moves=(later(LONG),)),
    Specimen(name="optional", flow=Optional),
    Specimen(name="rolled_back", flow=RolledBack),
    Specimen(name="stuck", flow=Stuck),
    Specimen(name="stuck_goes_on", flow=StuckGoesOn),
    Specimen(name="own_failure", flow=OwnFailure),
    Specimen(name="grouped", flow=Grouped),
    Specimen(name="beside", flow=Beside, in_any_order=True),
    Specimen(
        name="beside_later",
        flow=BesideLater,
        moves=(later(LONG),),
        in_any_order=True,
    ),
    Specimen(name="beside_stuck", flow=BesideStuck, in_any_order=True),
    Specimen(name="added", flow=Added, moves=(send("more", 1),)),
    Specimen(name="caught", flow=Caught),
    Specimen(name="approved", flow=Approved, moves=(send("word", "yes"),)),
    Specimen(
        name="approved_at_once",
        flow=ApprovedAtOnce,
        early=(send("word", "yes"), send("word", "indeed")),
    ),
    Specimen(name="timed_out", flow=TimedOut, moves=(later(LONG),)),
    Specimen(name="napped", flow=Napped),
    Specimen(name="slept", flow=Slept, moves=(later(LONG),)),
    Specimen(name="valued", flow=Valued, moves=(send("more", 1),)),
    Specimen(name="parented", flow=Parented),
    Specimen(name="undone_inside", flow=UndoneInside),
    Specimen(name="undone_inside_stuck", flow=UndoneInsideStuck),
    Specimen(name="side_by_side", flow=SideBySide, in_any_order=True),
    Specimen(name="all_settle", flow=AllSettle, in_any_order=True),
    Specimen(name="fails_fast", flow=FailsFast),
    Specimen(name="mapped", flow=Mapped, in_any_order=True),
    Specimen(name="raced", flow=Raced, moves=(send("word", "yes"),)),
    Specimen(name="raced_by_time", flow=Raced, moves=(later(LONG),)),
    Specimen(name="asked", flow=Asked, moves=(ask("resume", "go on"),)),
    Specimen(name="labelled", flow=Labelled, moves=(send("go", None),)),
    Specimen(name="reserved", flow=Straight, reserved=True),
    Specimen(
        name="delayed", flow=Straight, options={"run_after": LONG}, moves=(later(LONG),)
    ),
    Specimen(
        name="paused",
        flow=Approved,
        moves=(ask("interrupt"), send("word", "yes"), ask("resume")),
    ),
    Specimen(name="of_its_own", flow=OfItsOwn),
    Specimen(name="of_its_own_retried", flow=OfItsOwnRetried, moves=(later(LONG),)),
    Specimen(name="of_its_own_failed", flow=OfItsOwnFailed),
    Specimen(name="of_its_own_optional", flow=OfItsOwnOptional),
    Specimen(name="of_its_own_cancelled", flow=OfItsOwnLater, moves=(ask("cancel"),)),
    Specimen(
        name="of_its_own_compensated", flow=OfItsOwnLater, moves=(ask("compensate"),)
    ),
    Specimen(name="whole", flow=Whole),
    Specimen(name="whole_of_its_own", flow=WholeOfItsOwn),
    Specimen(name="whole_rolled_back", flow=WholeRolledBack),
    Specimen(name="cancelled", flow=Approved, moves=(ask("cancel"),)),
    Specimen(name="compensated", flow=Approved, moves=(ask("compensate"),)),
    Specimen(name="terminated", flow=Approved, moves=(ask("terminate"),)),
    Specimen(
        name="expired",
        flow=Approved,
        options={"expires_in": LONG},
        moves=(later(2 * LONG),),
    ),
)


def rows_of(instance_id: str) -> list[str]:
    """The rows that the bodies of one run left, in order."""
    rows = Row.objects.filter(instance_id=instance_id).order_by("pk")
    return list(rows.values_list("name", flat=True))


def effects_of(instance_id: str) -> list[Effect]:
    """What the bodies of one run did, in order."""
    return [effect for effect in ledger if effect.instance_id == instance_id]


def handle_of(instance_id: str) -> Handle[Any]:
    """The run of one instance."""
    return flows.load(instance_id)

"""A small workflow of each kind for the helpers to drive."""

from __future__ import annotations

from datetime import timedelta

from saga_flow import RESULT, Retry, Signal, Workflow, action, current_step

PREFIX = "testing_helpers"


@action(name=f"{PREFIX}.charge", retry=Retry(attempts=3, delay=timedelta(hours=1)))
def charge(order: str, cents: int) -> str:
    """Take money; a test must never come here."""
    raise AssertionError(f"the real charge of {order} over {cents}")


@action(name=f"{PREFIX}.refund")
def refund(charge_id: str) -> None:
    """Give it back; a test must never come here."""
    raise AssertionError(f"the real refund of {charge_id}")


@action(name=f"{PREFIX}.reserve")
def reserve(order: str) -> str:
    """Set goods aside."""
    return f"shelf of {order}"


@action(name=f"{PREFIX}.release")
def release(order: str) -> None:
    """Put them back."""


@action(name=f"{PREFIX}.ask")
async def ask(question: str) -> str:
    """Ask somebody else, who may be slow."""
    return f"real answer to {question}"


@action(name=f"{PREFIX}.key")
def key() -> str:
    """What the step knows of itself."""
    step = current_step()
    return f"{step.instance_id} {step.attempt} {step.idempotency_key}"


class Checkout(Workflow):
    """Charge, reserve, and wait for a word."""

    approval = Signal(str)

    class Meta:
        """Its name."""

        name = f"{PREFIX}.checkout"

    def handle(self, order: str, cents: int) -> str:
        """Sell one order."""
        paid = self.action(charge, order, cents).compensate_with(refund, RESULT).run()
        self.action(reserve, order).compensate_with(release, order).run()
        if self.approval.wait(timeout=timedelta(days=1)) != "yes":
            raise ValueError("refused")
        return paid


class Monthly(Workflow):
    """Sleeps for a month between two readings of the clock."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.monthly"

    def handle(self) -> float:
        """How many days have passed."""
        before = self.now()
        self.sleep(timedelta(days=30))
        return (self.now() - before) / timedelta(days=1)


class Reserve(Workflow):
    """One step."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.reserve_only"

    def handle(self, order: str) -> str:
        """Set goods aside."""
        return self.action(reserve, order).run()


class Ask(Workflow):
    """One step with an async body."""

    class Meta:
        """Its name."""

        name = f"{PREFIX}.ask_only"

    def handle(self, question: str) -> str:
        """Ask."""
        return self.action(ask, question).run()

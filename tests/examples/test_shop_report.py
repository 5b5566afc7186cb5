"""The demo's table and figures say what happened, and what is not as it must be."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from examples.shop import report
from examples.shop.ledger import ChargeRow, EntryRow, Money, World
from examples.shop.orders import Order
from examples.shop.progress import Progress, bar, sentence
from examples.shop.report import Recovery, Report
from examples.shop.standing import OrderRun, StepRun, reason_of

pytestmark = pytest.mark.unit

ORDER = Order(
    order_id="SO-1", cents=500, card="tok", items={}, address={}, accepted=True
)
WAITING = OrderRun(
    order_id="SO-1",
    status="waiting",
    reason="waiting for signal 'approval'",
    awaits_approval=True,
    rollback_failed=False,
)
UNDONE = replace(
    WAITING, status="failed", reason="card declined", awaits_approval=False
)
CHARGED = World(
    charges=(ChargeRow(reference="ch", order_id="SO-1", cents=500),),
    entries=(
        EntryRow(posting="ch", account="gateway", cents=500),
        EntryRow(posting="ch", account="sales", cents=-500),
    ),
)
RECOVERED = Recovery(
    order_id="SO-1", step="charge_card", pid=77, seconds=21.4, attempt=2, charges=1
)
GOOD = Report(
    orders=3,
    completed=1,
    rolled_back={"card declined": 1},
    waiting=1,
    under_way=0,
    rollback_failed=0,
    retried=2,
    not_notified=0,
    money=Money(charged=123456, refunded=500),
    recovery=RECOVERED,
    seconds=30.0,
    faults=(),
)


def found(*runs: OrderRun, recovery: Recovery | None = RECOVERED) -> list[str]:
    return report.faults([ORDER], runs, CHARGED, recovery)


def test_an_order_that_waits_for_a_person_is_no_fault() -> None:
    assert found(WAITING) == []


def test_an_order_without_a_run_is_a_fault() -> None:
    assert "SO-1: has no run" in found()


def test_an_order_under_way_is_a_fault_that_says_what_it_waits_for() -> None:
    stuck = replace(WAITING, awaits_approval=False, reason="waiting for a retry")

    assert found(stuck) == [
        "not all orders came to rest in time, so nothing is proven",
        "SO-1: still waiting (waiting for a retry)",
    ]


def test_a_charge_left_with_an_undone_order_is_a_fault() -> None:
    assert found(UNDONE) == ["SO-1 (rolled back): refunded 0 times, not 1"]


def test_a_rollback_that_failed_is_a_fault() -> None:
    assert "SO-1: not everything could be undone" in found(
        replace(UNDONE, rollback_failed=True)
    )


def test_a_failure_for_an_unknown_reason_is_a_fault() -> None:
    assert "SO-1: failed for a reason that the shop has not" in found(
        replace(UNDONE, reason=None)
    )


@pytest.mark.parametrize(
    ("recovery", "fault"),
    [
        (None, "no worker was killed"),
        (replace(RECOVERED, attempt=1), "attempt says 1, not 2"),
        (replace(RECOVERED, charges=2), "charged 2 times, not once"),
    ],
)
def test_a_crash_that_was_not_recovered_from_is_a_fault(
    recovery: Recovery | None, fault: str
) -> None:
    assert fault in "".join(found(WAITING, recovery=recovery))


def test_the_table_names_the_figures_and_the_proof() -> None:
    table = report.table(GOOD)

    assert "EUR 1,234.56" in table
    assert "process 77" in table
    assert "finished by attempt 2 after 21 s" in table
    assert "The ledger balances" in table


def test_the_table_lists_faults_instead_of_the_proof() -> None:
    table = report.table(replace(GOOD, faults=("SO-1: has no run",)))

    assert "NOT AS IT MUST BE (1):\n    SO-1: has no run" in table
    assert "The ledger balances" not in table


def test_a_long_list_of_faults_is_cut_short() -> None:
    many = replace(GOOD, faults=tuple(f"fault {n}" for n in range(40)))

    assert "NOT AS IT MUST BE (40):\n    fault 0\n" in report.table(many)
    assert "    fault 14\n    and 25 more\n" in report.table(many)
    assert report.figures(many)["faults"] == 40
    assert len(report.figures(many)["first_faults"]) == 15


def test_the_figures_fit_on_one_line_of_json() -> None:
    line = json.dumps(report.figures(GOOD))

    read = json.loads(line)
    assert "\n" not in line
    assert (read["balanced"], read["rolled_back"], read["kept_cents"]) == (
        True,
        1,
        122956,
    )


def test_rolled_back_orders_are_counted_by_reason() -> None:
    runs = [UNDONE, WAITING, replace(UNDONE, reason=None, status="expired")]

    assert report.count_rolled_back(runs) == {
        "card declined": 1,
        "out of stock": 0,
        "address undeliverable": 0,
        "rejected by a person": 0,
        "other (expired)": 1,
    }


def test_steps_with_more_than_one_attempt_are_counted() -> None:
    steps = [StepRun(name="x", status="completed", attempt=n) for n in (1, 2, 3)]

    assert report.count_retried(steps) == 2


@pytest.mark.parametrize(
    "error",
    [
        {"type": "shop.errors.CardDeclined", "message": "no"},
        {"type": "ActionFailed", "cause": {"type": "CardDeclined"}},
        {"type": "ActionFailed", "causes": [{"type": "a.b.CardDeclined"}]},
    ],
)
def test_the_reason_is_found_in_the_error_or_its_causes(error: dict[str, str]) -> None:
    assert reason_of(error) == "card declined"


@pytest.mark.parametrize("error", [None, {}, {"type": "KeyError", "message": "x"}])
def test_an_unknown_error_has_no_reason(error: dict[str, str] | None) -> None:
    assert reason_of(error) is None


def test_progress_says_how_many_have_ended_and_how() -> None:
    assert sentence([UNDONE, WAITING], 4) == (
        "[#####...............] 1/4  1 rolled back, 1 waiting for approval"
    )
    assert bar(0, 0) == "[....................] 0/0"


def test_without_a_terminal_progress_is_plain_and_rare() -> None:
    out = io.StringIO()
    seconds = iter([100.0, 100.0, 101.0, 101.5, 103.5])
    progress = Progress(out, clock=lambda: next(seconds))

    progress.show("at once")
    progress.show("too soon")
    progress.say("said")
    progress.show("later")
    progress.end()

    assert out.getvalue().splitlines() == [
        "    0.0 s  at once",
        "    1.5 s  said",
        "    3.5 s  later",
    ]


def test_on_a_terminal_progress_is_drawn_in_place() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    progress = Progress(out)

    progress.show("one")
    progress.show("x" * 500)
    progress.end()

    first, second = out.getvalue().split("\r\033[K")[1:3]
    assert "one" in first
    assert len(second) < 500
    assert "\n" not in out.getvalue()

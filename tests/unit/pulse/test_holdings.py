"""What this process executes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from saga_flow import holdings
from saga_flow.holdings import Holding


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    yield
    holdings.clear()


def test_a_claim_is_held_for_the_length_of_the_block() -> None:
    with holdings.holding("run", "a", 4):
        assert holdings.holds("run", "a", 4)
        assert not holdings.holds("run", "a", 5)
    assert holdings.current() == frozenset()


def test_a_body_that_raises_holds_nothing_afterwards() -> None:
    with pytest.raises(SystemExit), holdings.holding("step", "1", 1):
        raise SystemExit

    assert holdings.current() == frozenset()


def test_dropping_twice_is_harmless() -> None:
    holdings.hold("undo", "1", 1)
    holdings.drop("undo", "1", 1)
    holdings.drop("undo", "1", 1)

    assert holdings.current() == frozenset()


def test_a_thread_knows_its_own_from_others() -> None:
    holdings.hold("run", "mine", 1)
    thread = threading.Thread(target=holdings.hold, args=("run", "theirs", 1))
    thread.start()
    thread.join()

    assert holdings.of_this_thread() == {Holding(kind="run", id="mine", token=1)}
    assert len(holdings.current()) == 2

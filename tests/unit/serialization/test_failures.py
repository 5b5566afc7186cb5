"""Exceptions become bounded text, whatever they do to prevent it."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

import pytest

from saga_flow.exceptions import PayloadNotDecodable
from saga_flow.serialization import Failure, failure_of
from saga_flow.serialization.failures import (
    MAX_CAUSES,
    MAX_MESSAGE_BYTES,
    MAX_TRACEBACK_BYTES,
)


class CardDeclined(Exception):
    """An error of an author's."""


class Mute(Exception):
    def __str__(self) -> NoReturn:
        raise RuntimeError("no text for you")

    __repr__ = __str__


def caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 - whatever a test hands in
        return raised


def test_a_failure_says_what_was_raised_and_where() -> None:
    failure = failure_of(caught(CardDeclined("no funds")), attempt=3)

    assert failure.type == "CardDeclined"
    assert failure.qualified_name == f"{__name__}.CardDeclined"
    assert failure.message == "no funds"
    assert failure.attempt == 3
    assert failure.causes == ()
    assert "in caught" in failure.traceback
    assert failure.traceback.endswith("CardDeclined: no funds\n")


def test_an_exception_that_was_never_raised_is_described_too() -> None:
    failure = failure_of(KeyError("a"))

    assert (failure.type, failure.message) == ("KeyError", "'a'")


def test_an_exception_without_text_is_described_too() -> None:
    failure = failure_of(caught(Mute()))

    assert failure.type == "Mute"
    assert failure.message == "<its __str__ raised RuntimeError>"
    assert "in caught" in failure.traceback


def test_the_message_is_bounded_in_bytes() -> None:
    message = failure_of(CardDeclined("ä" * 5_000)).message

    assert message == "ä" * (MAX_MESSAGE_BYTES // 2)


def test_the_end_of_a_long_traceback_is_kept() -> None:
    def deep(levels: int) -> None:
        if levels % 2:
            deep(levels - 1)
        elif levels:
            other(levels)
        else:
            raise CardDeclined("ä" * 100)

    def other(levels: int) -> None:
        deep(levels - 1)

    with pytest.raises(CardDeclined) as raised:
        deep(200)
    traceback = failure_of(raised.value).traceback

    assert MAX_TRACEBACK_BYTES - 3 <= len(traceback.encode()) <= MAX_TRACEBACK_BYTES
    assert traceback.endswith("ä\n")


def test_causes_are_listed_nearest_first() -> None:
    try:
        try:
            try:
                raise KeyError("root")
            except KeyError as root:
                raise ValueError("middle") from root
        except ValueError:
            raise CardDeclined("top")  # noqa: B904 - the context is what is tested
    except CardDeclined as error:
        failure = failure_of(error)

    assert [cause.type for cause in failure.causes] == ["ValueError", "KeyError"]
    assert "root" not in failure.traceback


def test_a_suppressed_context_is_no_cause() -> None:
    try:
        try:
            raise KeyError("secret")
        except KeyError:
            raise CardDeclined("top") from None
    except CardDeclined as error:
        failure = failure_of(error)

    assert failure.causes == ()


def test_a_chain_of_causes_is_cut() -> None:
    errors = [CardDeclined(str(index)) for index in range(20)]
    for error, cause in pairwise(errors):
        error.__cause__ = cause

    causes = failure_of(errors[0]).causes

    assert [cause.message for cause in causes] == ["1", "2", "3", "4", "5"]
    assert len(causes) == MAX_CAUSES


def test_a_chain_that_closes_on_itself_ends() -> None:
    one, two = CardDeclined("one"), CardDeclined("two")
    one.__cause__, two.__cause__ = two, one

    assert [cause.message for cause in failure_of(one).causes] == ["two"]


def test_base_exceptions_and_groups_are_described() -> None:
    group = ExceptionGroup("both", [KeyError("a"), CardDeclined("b")])

    assert failure_of(SystemExit(1)).type == "SystemExit"
    assert "CardDeclined: b" in failure_of(caught(group)).traceback


def test_a_failure_comes_back_equal() -> None:
    error = CardDeclined("top \ud800 \x00")
    error.__cause__ = KeyError("root")
    failure = failure_of(caught(error), attempt=2)

    assert failure.message == "top \ufffd \ufffd"
    assert Failure.from_json(failure.to_json()) == failure


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"type":"A"}', '{"type":1,"qualified_name":"a","message":"b"}', "{"],
)
def test_text_that_is_no_failure_is_refused(text: str) -> None:
    with pytest.raises(PayloadNotDecodable, match="error of run 7 is not"):
        Failure.from_json(text, what="error of run 7")

"""Payloads for people: bounded, faithful, and never a reason to fail."""

from __future__ import annotations

import pytest

from saga_flow.queries.payloads import json_object, preview


def test_a_short_payload_is_laid_out() -> None:
    assert preview('{"a":[1,2]}').text == '{\n  "a": [\n    1,\n    2\n  ]\n}'


@pytest.mark.parametrize("number", [str(2**63 - 1), "0.12345678901234567890", "1e400"])
def test_numbers_are_shown_digit_for_digit(number: str) -> None:
    assert number in preview(f'{{"n":{number}}}').text


def test_a_long_payload_is_cut_and_says_so() -> None:
    stored = '"' + "x" * 100 + '"'

    shown = preview(stored, limit=10)

    assert (shown.text, shown.size, shown.cut) == ('"xxxxxxxxx', 102, True)


def test_a_payload_that_would_grow_over_the_limit_stays_as_stored() -> None:
    assert preview("[1,2,3]", limit=8).text == "[1,2,3]"


def test_nothing_stored_is_an_empty_preview() -> None:
    assert preview(None).text == ""


def test_what_is_not_json_is_shown_as_it_is() -> None:
    assert preview("{broken").text == "{broken"


def test_an_unreadable_column_is_described_not_raised() -> None:
    assert json_object("{broken")["type"] == "PayloadNotDecodable"


def test_an_object_stays_an_object_even_if_it_is_none() -> None:
    assert json_object('"text"') == {"message": "text"}

"""RESULT stands in an undo's arguments until the step's result is known."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from saga_flow.exceptions import ResultPathMissing
from saga_flow.serialization import (
    RESULT,
    bind,
    decode_arguments,
    encode,
    encode_arguments,
    resolve_results,
)


@dataclass
class Receipt:
    id: str
    amounts: list[Decimal]


def refund(
    order: str, charge: Any, *rest: Any, amount: Decimal | None = None
) -> None: ...


def undo_arguments(*args: Any, **kwargs: Any) -> str:
    arguments = bind(refund, args, kwargs, what="orders.refund")
    return encode_arguments(arguments, allow_result=True)


RECEIPT = encode(Receipt("ch_1", [Decimal("1.50")]), what="it")


def test_a_reference_shows_its_path_and_compares_by_it() -> None:
    assert repr(RESULT) == "RESULT"
    assert repr(RESULT["id"][0]) == "RESULT['id'][0]"
    assert RESULT["id"] == RESULT["id"] != RESULT["ids"]
    assert hash(RESULT["id"]) == hash(RESULT["id"])
    assert deepcopy(RESULT["id"]) == RESULT["id"]


@pytest.mark.parametrize(
    ("misuse", "error", "told"),
    [
        (lambda: f"ch-{RESULT}", TypeError, "has no text yet"),
        (lambda: str(RESULT["id"]), TypeError, "has no text yet"),
        (lambda: bool(RESULT), TypeError, "neither true nor false"),
        (lambda: list(RESULT), TypeError, "not iterable"),
        (lambda: "a" in RESULT, TypeError, "not a container"),
        (lambda: RESULT.id, AttributeError, r"is written RESULT\['id'\]"),
        (lambda: RESULT[1.5], TypeError, "not float"),
        (lambda: RESULT[True], TypeError, "not bool"),
        (lambda: RESULT[1:2], TypeError, "not slice"),
        (lambda: setattr(RESULT, "path", ()), AttributeError, "immutable"),
        (lambda: delattr(RESULT, "path"), AttributeError, "immutable"),
    ],
    ids=range(11),
)
def test_using_a_result_too_early_is_an_error(
    misuse: Callable[[], object], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        misuse()


def test_it_is_filled_in_from_the_stored_result() -> None:
    text = undo_arguments(
        "o", RESULT["id"], {"all": [RESULT]}, amount=RESULT["amounts"][-1]
    )

    resolved = resolve_results(text, RECEIPT)

    assert decode_arguments(resolved, refund) == (
        ("o", "ch_1", {"all": [{"id": "ch_1", "amounts": ["1.50"]}]}),
        {"amount": Decimal("1.50")},
    )


def test_a_failed_step_has_no_result_so_every_part_is_none() -> None:
    resolved = resolve_results(undo_arguments("o", RESULT["id"], RESULT), None)

    assert decode_arguments(resolved, refund) == (("o", None, None), {})


def test_a_step_that_returned_none_has_none_as_its_result() -> None:
    resolved = resolve_results(undo_arguments("o", RESULT), encode(None, what="it"))

    assert decode_arguments(resolved, refund) == (("o", None), {})


def test_arguments_without_a_reference_are_left_alone() -> None:
    text = undo_arguments("o", 1)

    assert resolve_results(text, None) is text


def test_no_value_of_an_author_is_mistaken_for_a_reference() -> None:
    forged = {"$result": ["id"], "$model": "auth.group", "$$result": "$result"}

    resolved = resolve_results(undo_arguments("$result", forged, RESULT["id"]), RECEIPT)

    assert decode_arguments(resolved, refund) == (("$result", forged, "ch_1"), {})


def test_keys_of_a_result_may_look_like_markers() -> None:
    result = encode({"$result": {"$$": 1}}, what="it")

    resolved = resolve_results(undo_arguments("o", RESULT["$result"]["$$"]), result)

    assert decode_arguments(resolved, refund) == (("o", 1), {})


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (RESULT["ids"], r"RESULT\['ids'\] .* RESULT is an object with the keys 'id', "),
        (RESULT["amounts"][3], r"RESULT\['amounts'\] is an array of 1"),
        (RESULT["amounts"]["a"], r"RESULT\['amounts'\] is an array of 1"),
        (RESULT["id"][0], r"RESULT\['id'\] is a string"),
        (RESULT[0], "RESULT is an object"),
    ],
    ids=repr,
)
def test_a_part_that_is_not_there_is_named(reference: Any, told: str) -> None:
    with pytest.raises(ResultPathMissing, match=told):
        resolve_results(undo_arguments("o", reference), RECEIPT)

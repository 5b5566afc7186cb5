"""The seam where a codec of the host's seals payloads."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError
from django.test import override_settings

from saga_flow.exceptions import CodecFailed, CodecRefused, PayloadNotDecodable
from saga_flow.models import ActionRun, FlowTag
from saga_flow.models.fields import payload_columns
from saga_flow.serialization import (
    RESULT,
    bind,
    decode,
    encode,
    encode_arguments,
    resolve_results,
)
from saga_flow.serialization.sealing import left_open, problem, seal, unseal
from tests.support.codecs import CHOOSY, FORGETFUL, HEXED, NUL, OTHER_KEY


@pytest.fixture
def codec(settings: Any) -> Any:
    def use(path: str) -> None:
        settings.SAGA_FLOW = {"CODEC": path}

    return use


def test_without_a_codec_text_is_stored_as_it_is() -> None:
    assert seal('{"a":1}') == left_open('{"a":1}') == '{"a":1}'
    assert unseal('{"a":1}', what="it") == '{"a":1}'
    assert problem() == ""


def test_a_codec_seals_and_opens(codec: Any) -> None:
    codec(HEXED)

    sealed = seal(encode({"a": 1}, what="it"))

    assert sealed == "~:" + b'{"a":1}'.hex()
    assert decode(sealed, dict[str, int]) == {"a": 1}
    assert problem() == ""


def test_what_is_sealed_is_not_sealed_again(codec: Any) -> None:
    codec(HEXED)

    assert seal(seal("1")) == seal("1")
    assert seal(left_open("1")) == left_open("1") != "1"
    assert unseal(left_open("1"), what="it") == "1"


def test_rows_from_before_the_codec_stay_readable(codec: Any) -> None:
    plain = encode("~:looks sealed", what="it")
    codec(OTHER_KEY)

    assert decode(plain, str) == "~:looks sealed"


def test_a_result_is_filled_in_whether_sealed_or_not(codec: Any) -> None:
    def undo(what: str, how: Any) -> None: ...

    call = bind(undo, ("it", RESULT["id"]), {}, what="undo")
    arguments = encode_arguments(call, allow_result=True)
    codec(HEXED)

    filled = resolve_results(seal(arguments), seal('{"id":7}'))

    assert filled == '{"args":["it",7],"kwargs":{}}'


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (OTHER_KEY, "KeyError: 'no such key'"),
        ("", "is sealed, and SAGA_FLOW['CODEC'] is not set"),
        ("tests.support.codecs.Gone", "Gone"),
    ],
)
def test_what_cant_be_opened_says_what_is_missing(
    path: str, told: str, codec: Any
) -> None:
    codec(HEXED)
    sealed = seal("1")
    codec(path)

    with pytest.raises(CodecFailed) as caught:
        decode(sealed, int, what="result of orders.charge")

    assert isinstance(caught.value, PayloadNotDecodable)
    assert "result of orders.charge" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (CHOOSY, "ValueError: not this"),
        (NUL, "a NUL"),
        ("tests.support.codecs.Gone", "Gone"),
        ("builtins.dict", "AttributeError"),
    ],
)
def test_what_cant_be_sealed_is_a_write_that_failed(
    path: str, told: str, codec: Any
) -> None:
    codec(path)

    with pytest.raises(CodecRefused) as caught:
        seal('"indigestible"')

    assert isinstance(caught.value, DatabaseError)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("path", "told"),
    [(FORGETFUL, "gives 'null' back"), (OTHER_KEY, "no such key"), (NUL, "NUL")],
)
def test_a_bad_codec_is_found_by_trying_it(path: str, told: str) -> None:
    with override_settings(SAGA_FLOW={"CODEC": path}):
        assert told in problem()


def test_payloads_are_sealed_and_nothing_else() -> None:
    assert payload_columns(ActionRun) == {
        "arguments",
        "error",
        "fallback",
        "progress",
        "result",
        "undo_arguments",
    }
    assert payload_columns(FlowTag) == frozenset()

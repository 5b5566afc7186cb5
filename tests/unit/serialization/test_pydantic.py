"""Pydantic models travel by field name and come back validated."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from saga_flow.exceptions import PayloadNotDecodable, Unserialisable
from saga_flow.serialization import decode, encode

pydantic = pytest.importorskip("pydantic")
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field  # noqa: E402


class Line(BaseModel):
    sku: str
    price: Decimal


class Order(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    lines: list[Line]
    placed: datetime = Field(alias="placedAt")
    extra: dict[str, int] = {}

    @computed_field  # type: ignore[prop-decorator] # as pydantic documents it
    @property
    def count(self) -> int:
        return len(self.lines)


class Names(RootModel[list[str]]):
    pass


class Reading(BaseModel):
    value: float


class Blob(BaseModel):
    raw: bytes


class Left(BaseModel):
    x: int


class Right(BaseModel):
    x: int
    y: int = 0


ORDER = Order(
    lines=[Line(sku="a", price=Decimal("1.50"))],
    placedAt=datetime(2026, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
    extra={"$result": 1},
)


def test_a_model_comes_back_equal() -> None:
    text = encode({"order": ORDER}, what="it")

    assert decode(text, dict[str, Order]) == {"order": ORDER}
    assert str(decode(text, dict[str, Order])["order"].lines[0].price) == "1.50"


def test_a_payload_may_use_the_aliases() -> None:
    text = '{"lines":[],"placedAt":"2026-01-01T00:00:00Z"}'

    assert decode(text, Order).placed == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_root_model_comes_back_equal() -> None:
    assert decode(encode(Names(["a"]), what="it"), Names) == Names(["a"])


def test_unions_of_models_go_by_their_fields() -> None:
    assert decode(encode(Left(x=1), what="it"), Left | Right) == Left(x=1)
    assert decode(encode(Right(x=1), what="it"), Left | Right) == Right(x=1)


def test_what_a_model_lets_pass_is_still_refused() -> None:
    with pytest.raises(Unserialisable) as caught:
        encode([Reading(value=float("inf"))], what="it")

    assert caught.value.path == "value[0].value"


def test_a_model_that_can_not_be_dumped_is_refused() -> None:
    with pytest.raises(Unserialisable, match="its model_dump raised"):
        encode(Blob(raw=b"\xff"), what="it")


def test_a_payload_that_does_not_validate_names_the_model() -> None:
    with pytest.raises(
        PayloadNotDecodable, match=r"value\[0\] is an object, where Line"
    ):
        decode('[{"sku":1}]', list[Line])

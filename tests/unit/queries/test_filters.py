"""What a filter takes, and what it says of a typo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from saga_flow.exceptions import InvalidFilter
from saga_flow.queries.filters import NAMES, READERS, FlowFilter, flow_filter
from saga_flow.states import CompensationState, FlowStatus

RUN = "01890a5d-ac96-774b-bcce-b302099a8057"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_every_name_has_a_reader() -> None:
    assert set(READERS) == set(NAMES)


@pytest.mark.parametrize(
    ("given", "name", "read"),
    [
        ({"status": "failed"}, "status", {FlowStatus.FAILED}),
        (
            {"status": ["failed", FlowStatus.EXPIRED]},
            "status",
            {FlowStatus.FAILED, FlowStatus.EXPIRED},
        ),
        ({"status_bucket": "running"}, "status_bucket", "running"),
        (
            {"compensation_state": "failed"},
            "compensation_state",
            {CompensationState.FAILED},
        ),
        ({"workflow": "shop.checkout"}, "workflow", "shop.checkout"),
        ({"ids": [RUN]}, "ids", {UUID(RUN)}),
        ({"tag": "team=checkout"}, "tag", {"team": "checkout"}),
        ({"tag": ["a=1", "b=x=y"]}, "tag", {"a": "1", "b": "x=y"}),
        ({"tag": {"team": "checkout"}}, "tag", {"team": "checkout"}),
        ({"archived": "any"}, "archived", None),
        ({"archived": True}, "archived", True),
        ({"signalable": "true"}, "signalable", True),
        ({"stuck": "yes"}, "stuck", True),
        ({"created_after": "2026-03-01T12:00:00Z"}, "created_after", NOON),
        ({"closed_before": NOON}, "closed_before", NOON),
        ({"status": None}, "status", frozenset()),
    ],
)
def test_a_value_is_read(given: dict[str, object], name: str, read: object) -> None:
    assert getattr(flow_filter(given), name) == read


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"statsu": "failed"}, ["'statsu'", "Did you mean 'status'?", "business_key"]),
        ({"status": "faild"}, ["'faild'", "Did you mean 'failed'?", "terminated"]),
        ({"status": ["failed", "x"]}, ["'x'", "Legal are"]),
        ({"status": 7}, ["status=7", "Legal are"]),
        ({"status_bucket": "open"}, ["status_bucket='open'", "running, completed"]),
        ({"workflow": 3}, ["workflow=3", "text"]),
        ({"queue": "a\x00"}, ["NUL"]),
        ({"tag": "team=\x00"}, ["NUL"]),
        ({"ids": ["nope"]}, ["'nope'", "not a run id"]),
        ({"tag": "team"}, ["'team'", "key=value"]),
        ({"tag": ["a=1", "a=2"]}, ["a='1'", "a='2'"]),
        ({"archived": "maybe"}, ["archived='maybe'", "any"]),
        ({"stuck": "perhaps"}, ["stuck='perhaps'", "true, false"]),
        ({"signalable": "perhaps"}, ["signalable='perhaps'", "true, false"]),
        ({"created_after": "yesterday"}, ["'yesterday'", "2026-01-31T08:00:00Z"]),
        ({"created_after": "2026-03-01T12:00:00"}, ["no offset"]),
        ({"created_after": "2026-02-31T12:00:00Z"}, ["not a time"]),
    ],
)
def test_a_typo_is_named_with_what_is_legal(
    given: dict[str, object], told: list[str]
) -> None:
    with pytest.raises(InvalidFilter) as caught:
        flow_filter(given)

    assert [each for each in told if each not in str(caught.value)] == []


def test_the_fingerprint_knows_meaning_not_spelling() -> None:
    east = timezone(timedelta(hours=2))
    one = flow_filter({"status": ["failed", "expired"], "created_after": NOON})
    same = flow_filter(
        {"created_after": NOON.astimezone(east), "status": ("expired", "failed")}
    )

    assert one.fingerprint() == same.fingerprint()


@pytest.mark.parametrize(
    "other",
    [
        {"status": "failed"},
        {"ids": []},
        {"archived": "any"},
        {"archived": "true"},
        {"tag": "a=1"},
        {"queue": ""},
        {"signalable": True},
        {"stuck": True},
    ],
)
def test_the_fingerprint_tells_filters_apart(other: dict[str, object]) -> None:
    assert flow_filter(other).fingerprint() != FlowFilter().fingerprint()

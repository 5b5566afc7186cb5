"""A bad SAGA_FLOW is one check's to tell, in words that name the key."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from saga_flow import checks
from saga_flow.checks import catalogue


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"EXECUTR": "none"},
            "SAGA_FLOW has no option 'EXECUTR'. Did you mean 'EXECUTOR'?",
        ),
        ({"colour": 1}, "SAGA_FLOW has no option 'colour'."),
        (
            {"EXECUTOR": "celery"},
            "SAGA_FLOW['EXECUTOR'] is 'celery'; legal are django_q, inline, none.",
        ),
        ({"SLICE": 10}, "SAGA_FLOW['SLICE'] is 10; it takes a timedelta"),
        (["SLICE"], "SAGA_FLOW is ['SLICE']; it takes a dict of options."),
        (None, "SAGA_FLOW is None; it takes a dict of options."),
    ],
    ids=str,
)
def test_it_is_an_error_and_the_only_one(options: Any, words: str) -> None:
    with override_settings(SAGA_FLOW=options, USE_TZ=False):
        [message] = checks.settings_hold()
        asked = checks.databases_hold(databases=["default"])

    assert message.id == catalogue.BAD_OPTION.id
    assert message.is_serious()
    assert message.msg.startswith(words)
    assert asked == []

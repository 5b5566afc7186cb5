"""A bad SAGA_FLOW is one check's to tell, in words that name the key."""

from __future__ import annotations

from datetime import timedelta
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
        (
            {"SLICE": timedelta(seconds=-1)},
            "SAGA_FLOW['SLICE'] is datetime.timedelta(days=-1, seconds=86399), which "
            "is too little; it takes datetime.timedelta(0) or more.",
        ),
        (
            {"UNDO_ATTEMPTS": 0},
            "SAGA_FLOW['UNDO_ATTEMPTS'] is 0, which is too little; it takes 1 or more.",
        ),
        ({"MAX_PENDING_SIGNALS": -1}, "SAGA_FLOW['MAX_PENDING_SIGNALS'] is -1, which"),
        ({"SWEEPS": 1}, "SAGA_FLOW['SWEEPS'] is 1; it takes a bool, such as True."),
        (
            {"RUN_EXPIRES_IN": 3600},
            "SAGA_FLOW['RUN_EXPIRES_IN'] is 3600; it takes a timedelta, such as "
            "timedelta(hours=1), or None.",
        ),
        (
            {"STEP_EXPIRES_IN": timedelta()},
            "SAGA_FLOW['STEP_EXPIRES_IN'] is datetime.timedelta(0), which is too",
        ),
        ({"EXECUTOR": ["none"]}, "SAGA_FLOW['EXECUTOR'] is ['none']; it takes a str"),
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

"""Another process works on the test run's own database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from tests.support.database import environment

ROOT = Path(__file__).resolve().parents[3]

COUNT = (
    "from django.contrib.auth import get_user_model; "
    "print(get_user_model().objects.filter(username='seen-by-both').count())"
)


@pytest.mark.django_db(transaction=True)
def test_another_process_sees_what_the_test_committed() -> None:
    get_user_model().objects.create_user("seen-by-both")

    shown = subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", COUNT],
        cwd=ROOT,
        env=os.environ | environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert shown.split()[-1] == "1"

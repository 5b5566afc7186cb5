"""``import saga_flow`` before Django knows its settings and apps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import sys
import django
from django.conf import settings
from saga_flow import *
from saga_flow import registry

assert not [name for name in sys.modules if name.startswith("saga_flow.models")]

@action
def charge(order_id: str) -> str:
    return order_id

class Checkout(Workflow):
    def handle(self, order_id: str) -> str:
        return self.action(charge, order_id).run()

try:
    charge.name
except UnknownDefinition as error:
    print(error)

settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "saga_flow"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    USE_TZ=True,
)
django.setup()
print(charge.name, registry.workflow("__main__.Checkout").cls is Checkout)
"""


def test_definitions_made_before_setup_are_named_by_it() -> None:
    env = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    before, after = done.stdout.splitlines()
    assert "call django.setup() first, or give it a name" in before
    assert after == "__main__.charge True"

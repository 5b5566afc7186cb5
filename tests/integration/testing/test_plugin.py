"""
The plugin for pytest, in pytests of their own as a team would run them.

Each takes seconds to start, so one of them runs every example of docs/testing.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.integration.docs import outside
from tests.integration.docs.pages import DOCS, ROOT, blocks

PLUGIN = "saga_flow.pytest_plugin"

SETTINGS = """
from saga_flow import presets

SECRET_KEY = "for-a-test"
INSTALLED_APPS = [
    "django.contrib.contenttypes", "django.contrib.auth", "django_q", "saga_flow",
    "orders",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "db.sqlite3",
        "OPTIONS": presets.sqlite_options(),
        "TEST": {"NAME": "test.sqlite3"},
    }
}
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
ROOT_URLCONF = "orders.urls"
ALLOWED_HOSTS = ["*"]
STATIC_URL = "static/"
USE_TZ = True
Q_CLUSTER = presets.q_cluster()
SAGA_FLOW = {"EXECUTOR": "inline"}
"""

MODELS = """
from django.db import models

class Order(models.Model):
    number = models.CharField(max_length=50, unique=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose app ``orders`` is the one of the documentation."""
    orders = tmp_path / "orders"
    orders.mkdir()
    (orders / "__init__.py").touch()
    (orders / "models.py").write_text(MODELS)
    for name, code in outside.SOURCES.items():
        (orders / f"{name}.py").write_text(code)
    for page in ("authoring.md", "testing.md"):
        for block in blocks(DOCS / page):
            if block.module is not None:
                file = tmp_path / f"{block.module.replace('.', '/')}.py"
                with file.open("a") as opened:
                    opened.write(f"{block.code}\n\n")
    (tmp_path / "settings.py").write_text(SETTINGS)
    return tmp_path


def _pytest(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, *arguments],
        cwd=folder,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.covers("N-24", "D-OPS-6")
def test_the_examples_run_under_each_kind_of_test(project: Path) -> None:
    file = "orders/test_under_pytest.py"

    told = _pytest(project, "--ds", "settings", "-W", "error", file)

    assert f"{(project / file).read_text().count('def test_')} passed" in told


@pytest.mark.covers("N-24")
def test_the_examples_for_djangos_runner_run_under_it(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "django", "test", "orders.test_under_django"],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": f"{project}{os.pathsep}{ROOT}",
            "DJANGO_SETTINGS_MODULE": "settings",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    written = (project / "orders/test_under_django.py").read_text()
    assert f"Ran {written.count('def test_')} tests" in done.stderr


def test_without_django_it_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys\n"
        "def test_one():\n"
        "    assert 'saga_flow.models' not in sys.modules\n"
        "def test_two():\n"
        "    assert 'saga_flow.testing' not in sys.modules\n"
    )

    told = _pytest(tmp_path, "-p", "no:django")

    assert "2 passed" in told


def test_it_cleans_up_and_does_not_need_pytest_django(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import os, django\n"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'settings'\n"
        "django.setup()\n"
    )
    (project / "test_plain.py").write_text(
        "from django.test.utils import setup_databases, teardown_databases\n"
        "from orders.workflows import Checkout\n"
        "def test_a_run(saga_clock, saga_drain):\n"
        "    old = setup_databases(0, interactive=False)\n"
        "    handle = Checkout.start('order-1', 5)\n"
        "    assert saga_drain() == 1\n"
        "    assert handle.refresh().completed()\n"
        "    teardown_databases(old, 0)\n"
        "def test_what_is_left_behind():\n"
        "    from saga_flow import holdings, records\n"
        "    from saga_flow.executors import inline\n"
        "    holdings.hold('run', 'id', 1)\n"
        "    inline.wake(records.Wake(kind=records.Wanted.DRIVE, id='7', queue=''))\n"
        "def test_is_gone():\n"
        "    from saga_flow import holdings\n"
        "    from saga_flow.executors import inline\n"
        "    assert not holdings.current() and inline.take() is None\n"
    )

    told = _pytest(project, "-p", "no:django", "test_plain.py")

    assert "3 passed" in told


def test_pytest_finds_it_by_its_entry_point() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())

    [named] = told["project"]["entry-points"]["pytest11"].values()
    assert named == PLUGIN
    assert import_module(named).saga_drain

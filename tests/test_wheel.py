"""The built wheel, installed into a new project as the README says, runs a workflow."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 60

WORKFLOWS = """\
from saga_flow import Workflow, action


@action
def double(number: int) -> int:
    return number * 2


class Doubling(Workflow):
    def handle(self, number: int) -> int:
        return self.action(double, number).run()
"""

START = """\
from shop.workflows import Doubling
Doubling.using(instance_id="first").start(21)
"""

RESULT = """\
from datetime import timedelta
from saga_flow import flows
print(flows.load("first").result(timeout=timedelta(seconds=%d)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(
        *(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"),
        *("--no-build-isolation", "-w", str(folder), str(ROOT)),
    )
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture
def python(wheel: Path, tmp_path: Path) -> str:
    """The interpreter of a new environment that holds the wheel and what it needs."""
    _run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    _run(python, "-m", "pip", "install", "-q", str(wheel), "-c", _constraints(tmp_path))
    return python


@pytest.fixture
def project(python: str, tmp_path: Path) -> Path:
    """A new project with the README's lines and one workflow."""
    project = tmp_path / "project"
    project.mkdir()
    _run(python, "-m", "django", "startproject", "host", str(project))
    _run(python, "manage.py", "startapp", "shop", cwd=project)
    with (project / "host" / "settings.py").open("a") as settings:
        settings.write(_readme_settings())
    with (project / "host" / "urls.py").open("a") as urls:
        urls.write(
            "\nfrom django.urls import include\n"
            'urlpatterns += [path("sagas/", include("dashboard.urls"))]\n'
        )
    (project / "shop" / "workflows.py").write_text(WORKFLOWS)
    return project


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "saga_flow",
        "dashboard",
    }
    assert {"saga_flow/py.typed", "dashboard/py.typed"} <= set(names)
    assert {
        path.relative_to(ROOT).as_posix()
        for kind in ("templates", "static")
        for path in (ROOT / "dashboard" / kind).rglob("*")
        if path.is_file()
    } <= set(names)


def test_a_new_project_runs_a_workflow_to_its_end(python: str, project: Path) -> None:
    _run(python, "manage.py", "check", "--fail-level", "ERROR", cwd=project)
    _run(python, "manage.py", "makemigrations", "--check", "--dry-run", cwd=project)
    _run(python, "manage.py", "migrate", cwd=project)

    with _cluster(python, project):
        _shell(python, START, project)
        shown = _shell(python, RESULT % DEADLINE_SECONDS, project)

    assert shown.splitlines()[-1] == "42"


def _constraints(folder: Path) -> str:
    """Write what this environment has, so that the new one gets the same versions."""
    lock = (ROOT / "requirements.txt").read_text()
    pins = re.findall(r"^\S+==\S+(?: ;[^\\\n]*)?", lock, flags=re.MULTILINE)
    path = folder / "constraints.txt"
    path.write_text("\n".join(pins) + "\n")
    return str(path)


def _readme_settings() -> str:
    """Return the README's settings, with this project's apps in front of them."""
    text = (ROOT / "README.md").read_text()
    [block] = re.findall(
        r"```python\n(from saga_flow import presets\n.*?)```", text, re.S
    )
    added = block.replace("INSTALLED_APPS = [", 'INSTALLED_APPS += [\n    "shop",')
    assert added != block, "the README no longer lists INSTALLED_APPS"
    return f"\n{added}"


@contextlib.contextmanager
def _cluster(python: str, project: Path) -> Iterator[None]:
    with (project / "cluster.log").open("wb") as log:
        process = subprocess.Popen(
            [python, "manage.py", "qcluster"],
            cwd=project,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
        assert process.poll() is None, (project / "cluster.log").read_text()
    finally:
        # Only the leader is asked to end: SIGTERM to the whole group kills django-q2's
        # sentinel at once, and the leader then waits for it for ever. What is left
        # of the group after that is killed.
        process.terminate()
        _await_end(process)


def _await_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=DEADLINE_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _shell(python: str, script: str, project: Path) -> str:
    return _run(python, "manage.py", "shell", "-c", script, cwd=project)


def _run(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def _environment() -> dict[str, str]:
    """Return an environment that says nothing of this project."""
    own = ("DJANGO_SETTINGS_MODULE", "PYTHONPATH", "SAGA_", "PG", "MYSQL_")
    return {k: v for k, v in os.environ.items() if not k.startswith(own)}

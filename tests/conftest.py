"""
Marks each test by the folder it lies in, so that a run can choose by cost; and the
server that tests of several folders share.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.services import REDIS, Absent, Environment, available

HERE = Path(__file__).parent

# The deeper folder first: what is conformance is not also plain integration.
MARKERS = {
    "unit": "unit",
    "model": "unit",
    "integration/conformance": "conformance",
    "integration/atomic": "conformance",
    "integration/cancelling": "conformance",
    "integration/commands_layer": "conformance",
    "integration/compensating": "conformance",
    "integration/costs": "conformance",
    "integration/crash": "conformance",
    "integration/events": "conformance",
    "integration/limits": "conformance",
    "integration/exports": "conformance",
    "integration/lists": "conformance",
    "integration/starts": "conformance",
    "integration/statuses": "conformance",
    "integration/time_limits": "conformance",
    "integration": "integration",
    "races": "races",
    "cluster": "cluster",
    "examples": "integration",
    "architecture": "architecture",
    "typing": "architecture",
}


def pytest_report_header() -> str:
    """Say which database this run is on."""
    return f"database: {settings.DATABASES['default']['ENGINE']}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its folder's marker; a unit test may not ask for a database."""
    for item in items:
        marker = _marker(item.path.relative_to(HERE).parent.as_posix())
        if marker is None:
            continue
        item.add_marker(marker)
        if marker == "unit" and item.get_closest_marker("django_db"):
            raise pytest.UsageError(
                f"{item.nodeid} asks for a database; move it to tests/integration."
            )


def _marker(folder: str) -> str | None:
    for prefix, marker in MARKERS.items():
        if folder == prefix or folder.startswith(f"{prefix}/"):
            return marker
    return None


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Environment]:
    """Where Redis is: found running, else started for the length of the run."""
    try:
        with available(REDIS) as found:
            yield found
    except Absent as why:
        if os.environ.get("SAGA_REQUIRE_SERVERS") == "1":
            pytest.fail(f"SAGA_REQUIRE_SERVERS=1 asks for Redis. {why}")
        pytest.skip(f"Redis: not tested. {why}")

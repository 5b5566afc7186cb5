"""The Redis server of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.services import REDIS, Absent, Environment, available


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

"""Settings for the test suite; ``SAGA_DB`` picks the database of a whole run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from saga_flow import presets
from settings.base import *

SECRET_KEY = "known-to-everybody-and-so-for-tests-only"  # noqa: S105
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.zoo"]
Q_CLUSTER = presets.q_cluster(workers=2)
if "SAGA_TEST_REDIS_QUEUE" in os.environ:
    # A cluster that a test starts on a queue of its own.
    Q_CLUSTER = presets.q_cluster(
        workers=2,
        name=os.environ["SAGA_TEST_REDIS_QUEUE"],
        redis={
            "host": os.environ["REDIS_HOST"],
            "port": int(os.environ["REDIS_PORT"]),
        },
    )
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Named by process, so that two runs at once on one machine keep apart.
_NAME = f"test_saga_flow_{os.getpid()}"

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Django's own choice, a database in memory, has neither WAL nor a second
    # process, and so could not show what the engine must withstand.
    _NAME = str(Path(tempfile.gettempdir()) / f"{_NAME}.sqlite3")

DATABASES["default"]["TEST"] = {**DATABASES["default"].get("TEST", {}), "NAME": _NAME}

"""The project's settings for benchmarks, on a database of their own."""

# ruff: noqa: F405 - Django's settings inherit by star import

from __future__ import annotations

import os
from datetime import timedelta

from saga_flow import presets
from settings.base import *  # noqa: F403

SECRET_KEY = "known-to-everybody-and-so-for-benchmarks-only"  # noqa: S105
INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]

# A long history must be driven in one pass, or its replay would be measured too.
SAGA_FLOW = {"SLICE": timedelta(hours=1)}
Q_CLUSTER = presets.q_cluster(workers=2, timeout=2 * 60 * 60, log_level="ERROR")

if os.environ.get("BENCHMARKS_PREPARED"):
    DATABASES["default"]["OPTIONS"] = {
        "server_side_binding": True,
        "prepare_threshold": 5,
    }

# Django makes and drops the database as it does a test's, but under its own name,
# which a cluster in another process finds by the same environment.
DATABASES["default"]["TEST"] = {
    **DATABASES["default"].get("TEST", {}),
    "NAME": DATABASES["default"]["NAME"],
}

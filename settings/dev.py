"""Settings for work on one machine, and for the demo. Never for the open network."""

from __future__ import annotations

from settings.base import *

DEBUG = True
SECRET_KEY = "known-to-everybody-and-so-for-development-only"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

"""
Settings from the environment, complete or refused.

``SAGA_SECRET_KEY``, ``SAGA_ALLOWED_HOSTS`` (separated by commas), ``SAGA_DB`` and
the variables of that database must be set. May be set: ``SAGA_CSRF_ORIGINS``,
``SAGA_WORKERS``, ``SAGA_JOB_TIMEOUT`` (seconds), ``SAGA_CLUSTER_NAME``,
``SAGA_STATIC_ROOT``, ``SAGA_BEHIND_TLS_PROXY`` (1 when a proxy that sets
``X-Forwarded-Proto`` ends TLS).
"""

from __future__ import annotations

import os

from django.core.exceptions import ImproperlyConfigured

from saga_flow import presets
from settings.base import *

_REQUIRED: dict[str, tuple[str, ...]] = {
    "sqlite": ("SAGA_SQLITE_PATH",),
    "postgresql": ("PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE"),
    "mariadb": ("MYSQL_HOST", "MYSQL_USER", "MYSQL_PWD", "MYSQL_DATABASE"),
}


def _refuse_missing() -> None:
    names = ["SAGA_SECRET_KEY", "SAGA_ALLOWED_HOSTS", "SAGA_DB"]
    names += _REQUIRED.get(os.environ.get("SAGA_DB", ""), ())
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise ImproperlyConfigured(
            f"settings.production needs {', '.join(missing)} in the environment."
        )


def _words(name: str) -> list[str]:
    return [word for word in os.environ.get(name, "").split(",") if word]


def _count(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal() or int(text) < 1:
        raise ImproperlyConfigured(
            f"{name}={text!r} must be a whole number of at least 1."
        )
    return int(text)


_refuse_missing()

DEBUG = False
SECRET_KEY = os.environ["SAGA_SECRET_KEY"]
ALLOWED_HOSTS = _words("SAGA_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = _words("SAGA_CSRF_ORIGINS")

INSTALLED_APPS = [app for app in INSTALLED_APPS if not app.startswith("examples.")]

Q_CLUSTER = presets.q_cluster(
    name=os.environ.get("SAGA_CLUSTER_NAME", "saga_flow"),
    workers=_count("SAGA_WORKERS", 4),
    timeout=_count("SAGA_JOB_TIMEOUT", 120),
)

STATIC_ROOT = os.environ.get("SAGA_STATIC_ROOT")

SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SECURE_SSL_REDIRECT = True
SECURE_HSTS_SECONDS = 31_536_000
if os.environ.get("SAGA_BEHIND_TLS_PROXY") == "1":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

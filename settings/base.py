"""What every environment shares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from saga_flow import presets
from settings.databases import database

ROOT = Path(__file__).resolve().parent.parent

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_q",
    "saga_flow",
    "dashboard",
    "examples.shop",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": database(os.environ, sqlite_path=ROOT / "saga_flow.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if DATABASES["default"]["ENGINE"].endswith("mysql"):
    # An index of django-q2's has a condition, which MariaDB leaves out; that is all.
    SILENCED_SYSTEM_CHECKS = ["models.W037"]

SAGA_FLOW: dict[str, Any] = {}
Q_CLUSTER = presets.q_cluster()

ROOT_URLCONF = "settings.urls"
WSGI_APPLICATION = "settings.wsgi.application"
STATIC_URL = "static/"
LOGIN_URL = "admin:login"
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

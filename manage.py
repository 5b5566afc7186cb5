#!/usr/bin/env python
"""Run a management command; settings.dev unless DJANGO_SETTINGS_MODULE says else."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings.dev")
    execute_from_command_line(sys.argv)

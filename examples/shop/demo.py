"""
The demo: ``python -m examples.shop.demo``.

Takes a few hundred orders through the checkout saga on a fresh SQLite database,
kills a worker in mid-step, and proves that the ledger balances. Then it stays up
for a look at the console; with ``ONCE=1`` in the environment it approves all that
waits and ends instead: 0 if everything is as it must be, otherwise 1.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from importlib import import_module

import django

from examples.shop import gate
from examples.shop.folder import Folder, FolderInUse, fresh_folder
from examples.shop.processes import PROJECT, ServiceDied

_INTERRUPTED = 130


def main() -> int:
    """Run the demo; return the process's exit code."""
    # Asked for by name: a shell that starts a job in the background ignores SIGINT
    # for it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    once = os.environ.get("ONCE", "") not in ("", "0")
    try:
        with fresh_folder(PROJECT / "var" / "demo") as folder:
            _configure(folder)
            # Reads Django's models, so it can't be imported any earlier.
            from examples.shop import show  # noqa: PLC0415

            return show.run(folder, once=once)
    except (FolderInUse, ServiceDied) as error:
        print(f"\nThe demo stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo was interrupted; everything it started has ended.")
        return _INTERRUPTED


def _configure(folder: Folder) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "settings.dev",
        "SAGA_DB": "sqlite",
        "SAGA_SQLITE_PATH": str(folder.database),
        gate.DIRECTORY_VARIABLE: str(folder.gates),
    }
    django.setup()
    # django-q2 sets up its logger when this is imported, and would then report each
    # order's job on the terminal, across the progress line.
    import_module("django_q.conf")
    logging.getLogger("django-q").setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())

"""Nobody is told; only ``manage.py saga_sweep --loop`` finds and does the work."""

from __future__ import annotations

from saga_flow.records import Wake


def wake(wake: Wake) -> None:
    """Do nothing."""

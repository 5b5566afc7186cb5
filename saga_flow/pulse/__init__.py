"""
What beats in every process that executes: signs of life, and a leader for all.

Each worker process says every few seconds that it lives, and gives back what it owns
and does not execute. One of them leads: once a second it wakes what is due and
declares the dead lost. Nothing of it is on the way of a job.
"""

from __future__ import annotations

from saga_flow.pulse.beating import beating
from saga_flow.pulse.spawn import connect

__all__ = ["beating", "connect"]

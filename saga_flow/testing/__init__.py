"""
Helpers for tests of workflows: no cluster, no waiting (docs/testing.md).

They work in Django's ``TestCase``, in ``TransactionTestCase`` and with pytest-django.
"""

from saga_flow.clock import FakeClock
from saga_flow.registry import isolated as isolated_registry
from saga_flow.testing.asserting import assert_action_called, assert_compensated
from saga_flow.testing.clean import reset
from saga_flow.testing.driving import drain, run_workflow, send_signal
from saga_flow.testing.fakes import Call, FakeAction, fake_action, step_context
from saga_flow.testing.replaying import assert_replays
from saga_flow.testing.time import fake_clock

__all__ = [
    "Call",
    "FakeAction",
    "FakeClock",
    "assert_action_called",
    "assert_compensated",
    "assert_replays",
    "drain",
    "fake_action",
    "fake_clock",
    "isolated_registry",
    "reset",
    "run_workflow",
    "send_signal",
    "step_context",
]

"""The tables: columns, constraints and indexes; no behaviour."""

from saga_flow.models.action_run import ActionAttempt, ActionRun
from saga_flow.models.audit import FlowCommand, FlowEvent, FlowTag
from saga_flow.models.compensation_run import CompensationRun
from saga_flow.models.flow_run import FlowRun
from saga_flow.models.side_effect import SideEffect
from saga_flow.models.waits import FlowChild, FlowSignal, FlowTimer
from saga_flow.models.worker import Lease, Worker

__all__ = [
    "ActionAttempt",
    "ActionRun",
    "CompensationRun",
    "FlowChild",
    "FlowCommand",
    "FlowEvent",
    "FlowRun",
    "FlowSignal",
    "FlowTag",
    "FlowTimer",
    "Lease",
    "SideEffect",
    "Worker",
]

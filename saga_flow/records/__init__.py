"""
What crosses the lines between layers: frozen facts, no behaviour beyond reading.

Data goes down as these records; models never leave the store and the queries.
"""

from saga_flow.records.calls import (
    RunInfo,
    SignalCall,
    StepCall,
)
from saga_flow.records.decisions import (
    Gathered,
    Line,
    NewMarker,
    NewSideEffect,
    NewStep,
    NewTimer,
    Outcome,
    TakenSignal,
    Try,
    UndoPlan,
    Wait,
)
from saga_flow.records.facts import (
    ChildFacts,
    Claim,
    Facts,
    SideEffectFacts,
    SignalFacts,
    StepFacts,
    TimerFacts,
    UndoFacts,
)
from saga_flow.records.requests import (
    Answer,
    Principal,
    Request,
    Snapshot,
    StartOrder,
    Target,
    Wake,
    Wanted,
)
from saga_flow.records.rules import (
    Dispatch,
    Duplicate,
    LostWorker,
    Redaction,
    RetryRule,
    StepRule,
    UndoOrder,
    UndoPolicy,
)

__all__ = [
    "Answer",
    "ChildFacts",
    "Claim",
    "Dispatch",
    "Duplicate",
    "Facts",
    "Gathered",
    "Line",
    "LostWorker",
    "NewMarker",
    "NewSideEffect",
    "NewStep",
    "NewTimer",
    "Outcome",
    "Principal",
    "Redaction",
    "Request",
    "RetryRule",
    "RunInfo",
    "SideEffectFacts",
    "SignalCall",
    "SignalFacts",
    "Snapshot",
    "StartOrder",
    "StepCall",
    "StepFacts",
    "StepRule",
    "TakenSignal",
    "Target",
    "TimerFacts",
    "Try",
    "UndoFacts",
    "UndoOrder",
    "UndoPlan",
    "UndoPolicy",
    "Wait",
    "Wake",
    "Wanted",
]

"""Recorded histories against today's code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saga_flow import registry
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.workflow import Workflow
from saga_flow.engine.rehearsal import Recording, rehearse
from saga_flow.testing import recordings


def assert_replays(
    flow: type[Workflow], history: Handle[Any] | Mapping[str, Any] | Path
) -> None:
    """
    Assert that *flow*, as it is written now, asks for what *history* has recorded.

    *history* is a run in the database, or what ``handle.export()`` made of one: the
    document, or a file with it. It is replayed and never changed, and no body, side
    effect or undo runs. Raises HistoryMismatch, with the ordinal, where ``handle()``
    asks for something else, ends or fails too early, or goes on where the run has
    completed; DefiniteFailure where the history itself is broken; DefinitionError for
    a document that is no export.
    """
    name = registry.workflow_name(flow.__module__, flow.__qualname__)
    rehearse(_recording(history, name))


def _recording(history: Handle[Any] | Mapping[str, Any] | Path, name: str) -> Recording:
    match history:
        case Handle():
            return recordings.of_run(history.run_id, name)
        case Path():
            document = json.loads(history.read_text(encoding="utf-8"))
            return recordings.of_document(document, name)
        case _:
            return recordings.of_document(history, name)

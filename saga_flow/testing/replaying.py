"""Stored histories against today's code."""

from __future__ import annotations

from typing import Any

from saga_flow import queries, registry
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.workflow import Workflow
from saga_flow.engine import rehearsal
from saga_flow.engine.rehearsal import Recording
from saga_flow.records import Target
from saga_flow.store import history as store_history


def assert_replays(flow: type[Workflow], history: Handle[Any]) -> None:
    """
    Assert that *flow*, as it is written now, asks for what *history* has recorded.

    *history* is a run in the database; it is replayed and never changed, and no body,
    side effect or signal handler runs. Raises HistoryMismatch, with the ordinal, where
    ``handle()`` asks for something else, ends or fails too early, or goes on where
    the run has completed; DefiniteFailure where the history itself is broken.
    """
    rehearsal.rehearse(_of_the_database(flow, history))


def _of_the_database(flow: type[Workflow], handle: Handle[Any]) -> Recording:
    run = queries.snapshot(Target(run_id=handle.run_id))
    return Recording(
        run=run.run_id,
        instance_id=run.instance_id,
        tenant=run.tenant,
        run_number=run.run_number,
        workflow_name=registry.workflow_name(flow.__module__, flow.__qualname__),
        workflow_version=run.workflow_version,
        arguments=queries.arguments(run.run_id),
        status=run.status,
        facts=store_history.load(run.run_id),
    )

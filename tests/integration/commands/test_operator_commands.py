"""What an operator types: parsed, sent through a door, printed."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from saga_flow import Workflow, action, client
from saga_flow.models import FlowCommand, FlowRun
from saga_flow.states import CompensationStatus, FlowStatus
from tests.support import seeding

pytestmark = pytest.mark.django_db


def told(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        told(*words)
    return caught.value


def parsed(*words: str) -> Any:
    return json.loads(told(*words, "--json"))


def test_the_list_shows_runs_newest_first() -> None:
    seeding.run("order-1", wait_reason="waiting for signal 'approval'")
    run = seeding.run("order-2", status=FlowStatus.FAILED, error=seeding.failure())
    seeding.undo(run)

    lines = told("saga_list").splitlines()

    assert lines[0].split() == [
        "STATUS",
        "INSTANCE",
        "WORKFLOW",
        "CREATED",
        "(UTC)",
        "TOOK",
    ]
    assert any("waiting for signal 'approval'" in line for line in lines)
    assert any("failed, 1 of 1 undone" in line for line in lines)
    assert lines[-1] == "2 runs"


def test_the_list_says_when_there_is_more() -> None:
    for number in range(3):
        seeding.run(f"order-{number}")

    assert "2 of 3 runs; more with --limit" in told("saga_list", "--limit", "2")


@pytest.mark.covers("M-CLI-1")
def test_the_list_takes_every_filter() -> None:
    seeding.run("order-1", tags={"team": "a"}, workflow_version="2")
    seeding.run("order-2", status=FlowStatus.FAILED, tags={"team": "a"})

    found = parsed(
        "saga_list",
        "--status=waiting",
        "--status=running",
        "--tag=team=a",
        "--workflow=shop.checkout",
        "--workflow-version=2",
        "--signalable",
    )

    assert [run["instance_id"] for run in found] == ["order-1"]


def test_an_empty_list_says_so() -> None:
    assert told("saga_list").strip() == "No run matches."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["saga_list", "--status", "faild"], "Did you mean 'failed'?"),
        (["saga_list", "--limit", "0"], "--limit 0"),
        (["saga_start", "shop.nope"], "'shop.nope'"),
        (["saga_start", "shop.checkout", "--args", "7"], "neither an array"),
        (["saga_start", "shop.checkout", "--args", "{"], "not JSON"),
        (["saga_start", "shop.checkout", "--args", "[1]"], "shop.checkout"),
        (["saga_start", "shop.checkout", "--tag", "team"], "KEY=VALUE"),
        (["saga_signal", "order-1", "go", "--payload", "yes"], "own quotes"),
    ],
)
@pytest.mark.covers("M-CLI-2")
def test_wrong_usage_is_told_and_exits_2(words: list[str], said: str) -> None:
    error = refused(*words)

    assert error.returncode == 2
    assert said in str(error)
    assert not FlowCommand.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["saga_show", "nope"],
        ["saga_signal", "nope", "go"],
        ["saga_cancel", "nope", "--reason", "why"],
        ["saga_compensate", "nope", "--reason", "why"],
        ["saga_terminate", "nope", "--reason", "why"],
        ["saga_kick", "nope"],
    ],
)
@pytest.mark.covers("M-CLI-4")
def test_a_run_that_is_not_there_exits_1(words: list[str]) -> None:
    error = refused(*words)

    assert error.returncode == 1
    assert "'nope'" in str(error)


@pytest.mark.covers("M-CLI-3")
def test_show_tells_the_whole_story() -> None:
    run = seeding.run(
        "order-1",
        status=FlowStatus.FAILED,
        error=seeding.failure(),
        tags={"team": "a"},
        workflow_version="2",
    )
    seeding.step(run, 0, attempt=2)
    seeding.undo(
        run, 0, status=CompensationStatus.FAILED, error=seeding.failure("BankDown")
    )
    run.attempts.create(
        sequence=0,
        attempt=1,
        outcome="failed",
        error=seeding.failure("Timeout"),
        closed_at=seeding.START,
    )
    run.signals.create(name="approval", status="waiting", created_at=seeding.START)
    run.timers.create(
        sequence=3, status="fired", fire_at=seeding.START, created_at=seeding.START
    )
    seeding.line(run, 1, type="flow.started", actor="ann")

    text = told("saga_show", str(run.pk))

    wanted = [
        "order-1  failed, 0 of 1 undone",
        "shop.checkout, version 2",
        "CardDeclined: insufficient funds",
        "team=a",
        "attempt 2",
        "undo failed: shop.refund_card",
        "attempt 1 failed: Timeout",
        "undo: BankDown",
        "wait for signal approval",
        "timer",
        "flow.started",
        "by ann",
    ]
    assert [each for each in wanted if each not in text] == []


def test_show_keeps_only_the_last_lines_of_the_journal() -> None:
    run = seeding.run("order-1")
    for sequence in range(1, 30):
        seeding.line(run, sequence, type=f"line.{sequence}")

    text = told("saga_show", "order-1", "--lines", "2")

    assert "line.29" in text
    assert "line.28" in text
    assert "line.27" not in text


def test_show_as_json_has_every_part() -> None:
    run = seeding.run("order-1")
    seeding.step(run)

    data = parsed("saga_show", "order-1")

    assert data["run"]["run_id"] == str(run.pk)
    assert data["run"]["created_at"] == "2026-03-01T12:00:00+00:00"
    assert data["steps"][0]["status"] == "completed"


def test_what_would_steer_a_terminal_is_written_out() -> None:
    seeding.run("order-1", wait_reason="\x1b[2J\u202egone")

    text = told("saga_list")

    assert "\x1b" not in text
    assert "\\x1b[2J\\u202egone" in text


def test_start_starts_and_says_where_to_look() -> None:
    text = told(
        "saga_start",
        "shop.checkout",
        "--instance-id=order-7",
        "--tag=channel=web",
        "--args",
        json.dumps(["order-7", 100, "card", {}, {}]),
    )

    command = FlowCommand.objects.get()
    assert "Started order-7." in text
    assert "saga_show order-7" in text
    assert (command.source, command.principal_type) == ("cli", "system")
    assert FlowRun.objects.get().tags.get(key="channel").value == "web"


def test_start_takes_named_arguments() -> None:
    named = {"order_id": "o", "cents": 1, "card": "c", "items": {}, "address": {}}

    answer = parsed("saga_start", "shop.checkout", "--args", json.dumps(named))

    assert answer["outcome"] == "started_new"


def test_a_second_start_is_refused_with_the_reason() -> None:
    seeding.run("order-7")
    args = json.dumps(["order-7", 100, "card", {}, {}])

    error = refused(
        "saga_start", "shop.checkout", "--instance-id=order-7", "--args", args
    )

    assert error.returncode == 1
    assert "has a run already" in str(error)


@pytest.mark.covers("M-CLI-8")
def test_signal_delivers() -> None:
    run = seeding.run("order-1")

    text = told("saga_signal", "order-1", "approval", "--payload", '{"ok": true}')

    assert "delivered to order-1" in text
    assert run.signals.get().payload == '{"ok":true}'


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["saga_cancel"], FlowStatus.CANCELLED),
        (["saga_cancel", "--compensate"], FlowStatus.CANCELLING),
        (["saga_compensate"], FlowStatus.CANCELLING),
        (["saga_terminate"], FlowStatus.TERMINATED),
    ],
)
@pytest.mark.covers("M-CLI-5")
def test_a_command_acts_and_keeps_the_reason(
    words: list[str], status: FlowStatus
) -> None:
    run = seeding.run("order-1")
    seeding.step(
        run,
        undo_name="shop.refund_card",
        undo_arguments='{"args":["order-1","ch_1"],"kwargs":{}}',
    )

    told(words[0], "order-1", "--reason", "no longer wanted", *words[1:])

    run.refresh_from_db()
    assert run.status == status
    assert FlowCommand.objects.get().reason == "no longer wanted"


@pytest.mark.covers("M-CLI-6")
def test_a_refusal_prints_its_answer_as_json_and_exits_1() -> None:
    seeding.run("order-1", status=FlowStatus.COMPLETED)
    out = io.StringIO()

    with pytest.raises(CommandError) as caught:
        call_command("saga_cancel", "order-1", "--reason=why", "--json", stdout=out)

    assert caught.value.returncode == 1
    assert json.loads(out.getvalue())["outcome"] == "rejected_not_active"


def test_a_stale_revision_is_refused() -> None:
    seeding.run("order-1")

    error = refused("saga_cancel", "order-1", "--reason=why", "--revision=9")

    assert error.returncode == 1


@pytest.mark.covers("M-DOC-12")
def test_kick_leaves_a_closed_run_alone_and_says_how_it_stands() -> None:
    seeding.run("order-1", status=FlowStatus.COMPLETED)

    text = told("saga_kick", "order-1")

    assert "order-1 is missing nothing." in text
    assert "It is completed." in text


class _Ordered(Workflow):
    class Meta:
        name = "commands.ordered"

    def handle(self) -> None:
        self.action(_reserve).compensate_with(_release).run()
        self.signal("go").wait()


@action(name="commands.reserve")
def _reserve() -> None:
    return None


@action(name="commands.release")
def _release() -> None:
    return None


@pytest.mark.covers("M-CLI-7")
@pytest.mark.parametrize(
    "words",
    [["saga_compensate", "order-1"], ["saga_cancel", "order-1", "--compensate"]],
)
def test_a_rolled_back_run_ends_as_cancelled(words: list[str]) -> None:
    handle = _Ordered.using(instance_id="order-1").run_sync()

    told(*words, "--reason", "no longer wanted")
    client.drive(handle.run_id)

    assert handle.refresh().cancelled()
    assert [undo.status for undo in handle.compensations()] == ["completed"]

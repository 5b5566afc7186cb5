"""``manage.py saga_start``: start a run of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from saga_flow import client, flows
from saga_flow.authoring.start import StartOptions
from saga_flow.management.base import (
    USAGE,
    OperatorCommand,
    Report,
    from_json,
    report_of,
    request,
)
from saga_flow.records import Duplicate


class Command(OperatorCommand):
    """Start a workflow by its durable name."""

    help = "Start a run of a workflow."

    def declare(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("name", help="durable name, such as orders.checkout")
        parser.add_argument(
            "--args",
            dest="arguments",
            default="[]",
            help="JSON: an array of arguments, or an object of named ones",
        )
        parser.add_argument("--instance-id", help="made up when absent")
        parser.add_argument("--tenant")
        parser.add_argument("--queue", help="the cluster that runs its jobs")
        parser.add_argument(
            "--tag", action="append", default=[], metavar="KEY=VALUE", help="repeatable"
        )
        parser.add_argument(
            "--on-duplicate",
            choices=[policy.value for policy in Duplicate],
            default=Duplicate.REJECT.value,
        )
        parser.add_argument("--idempotency-key")

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Start it."""
        given = {"instance_id", "tenant", "queue"}
        chosen: StartOptions = {
            "tags": dict(_pair(each) for each in options["tag"]),
            "on_duplicate": Duplicate(options["on_duplicate"]),
            **{name: options[name] for name in given if options[name] is not None},  # type: ignore[typeddict-item] # names of StartOptions
        }
        args, kwargs = _arguments(options["arguments"])
        start = flows.workflow(options["name"]).using(**chosen)
        order = start.order(*args, **kwargs)
        return report_of(client.start(order, request(options)))


def _arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    match from_json(text, "--args"):
        case list() as args:
            return args, {}
        case dict() as kwargs:
            return [], kwargs
    raise CommandError(
        f'--args {text!r} is neither an array nor an object; write \'["order-42", '
        '1999]\' or \'{"order_id": "order-42"}\'.',
        returncode=USAGE,
    )


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise CommandError(
            f"--tag {text!r} is not a label; write KEY=VALUE, such as team=checkout.",
            returncode=USAGE,
        )
    return key, value

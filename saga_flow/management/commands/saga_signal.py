"""``manage.py saga_signal``: send a run a named message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from saga_flow import client, conf
from saga_flow.management.base import Report, RunCommand, from_json
from saga_flow.records import Answer, Request, Target
from saga_flow.serialization import encode


class Command(RunCommand):
    """Deliver a signal; it is read when the run asks for it."""

    help = "Send a signal to a run. It is stored, and read when the run asks for it."

    def declare(self, parser: CommandParser) -> None:
        """Declare the options."""
        super().declare(parser)
        parser.add_argument("name", help="the signal's name, such as approval")
        parser.add_argument("--payload", default="null", help="JSON; default: null")
        parser.add_argument(
            "--idempotency-key", help="sent twice under one key, it arrives once"
        )

    def answer(self, options: Mapping[str, Any]) -> Report:
        """Deliver."""
        name = options["name"]
        payload = encode(
            from_json(options["payload"], "--payload"),
            what=f"payload of signal {name!r}",
            limit=conf.get().MAX_PAYLOAD_BYTES,
        )

        def deliver(target: Target, request: Request) -> Answer:
            return client.signal(target, name, payload, request)

        return self.send(deliver, options)

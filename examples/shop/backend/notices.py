"""The mail server: tells customers where their parcel is."""

from __future__ import annotations

from django.db import transaction

from examples.shop.backend.errors import MailboxUnavailable
from examples.shop.models import Notice

REFUSING_DOMAIN = "full-mailbox.example"
"""Mail domain that takes no messages."""


def send(order_id: str, email: str, text: str, *, idempotency_key: str) -> None:
    """Mail *text* to *email*; raises MailboxUnavailable when it is refused."""
    if email.endswith(f"@{REFUSING_DOMAIN}"):
        raise MailboxUnavailable(f"{email} was refused: mailbox full")
    with transaction.atomic():
        Notice.objects.get_or_create(
            idempotency_key=idempotency_key,
            defaults={"order_id": order_id, "email": email, "text": text},
        )

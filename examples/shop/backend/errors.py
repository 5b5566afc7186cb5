"""What the outside world answers when it will not, or can't, do as asked."""

from __future__ import annotations


class ShopError(Exception):
    """Base of everything that the shop's backend raises."""


class CardDeclined(ShopError):
    """The bank refused the charge; asking again won't help."""


class GatewayUnavailable(ShopError):
    """No answer came from the gateway; whether money moved is unknown. Ask again."""


class AlreadyRefunded(ShopError):
    """The charge was given back before, under another idempotency key."""


class IdempotencyKeyReused(ShopError):
    """An idempotency key came back with other contents than the first time."""


class OutOfStock(ShopError):
    """The warehouse has fewer pieces of an article than were asked for."""


class AddressUndeliverable(ShopError):
    """The carrier doesn't deliver to the address; asking again won't help."""


class MailboxUnavailable(ShopError):
    """The customer's mail server refused the message."""

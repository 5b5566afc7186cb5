"""A small web shop: its orders run through a checkout saga."""

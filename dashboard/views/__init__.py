"""One function a page: ask a door, hand records to a presenter, render."""

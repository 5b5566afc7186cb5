"""Text is cut by bytes, between characters."""

from __future__ import annotations

import pytest

from saga_flow.serialization import bounded, bounded_tail


@pytest.mark.parametrize(
    ("text", "limit", "head", "tail"),
    [
        ("abc", 3, "abc", "abc"),
        ("abcd", 3, "abc", "bcd"),
        ("äöü", 5, "äö", "öü"),
        ("äöü", 4, "äö", "öü"),
        ("a😀b", 4, "a", "b"),
        ("a😀b", 5, "a😀", "😀b"),
        ("😀", 3, "", ""),
        ("a\x00b", 10, "a\ufffdb", "a\ufffdb"),
        ("\ud83d", 3, "\ufffd", "\ufffd"),
        ("\ud83d", 2, "", ""),
        ("abc", 0, "", ""),
        ("abc", -1, "", ""),
        ("", 5, "", ""),
    ],
    ids=range(13),
)
def test_it_keeps_whole_characters(text: str, limit: int, head: str, tail: str) -> None:
    assert bounded(text, limit) == head
    assert bounded_tail(text, limit) == tail

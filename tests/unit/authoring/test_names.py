"""Names, tags and lines of text."""

from __future__ import annotations

import pytest

from saga_flow import InvalidName, WrongArguments, names


@pytest.mark.parametrize("name", ["a", "Order-42", "a.b_c:d", "x" * 191])
def test_an_identifier_is_taken_as_it_is(name: str) -> None:
    assert names.identifier(name, what="instance_id") == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty; it takes 1 to 191 characters"),
        ("x" * 192, "has 192 characters .*the limit is 191"),
        ("order 42", "holds ' '; legal are ASCII letters, digits"),
        ("größe", "holds 'ö'"),
        ("a/b", "holds '/'"),
        ("order\n", r"holds '\\n'"),
        (42, "is 42, of type int; it takes a str"),
    ],
)
def test_an_ill_formed_identifier_is_refused(name: object, said: str) -> None:
    with pytest.raises(InvalidName, match=f"^instance_id .*{said}"):
        names.identifier(name, what="instance_id")


def test_a_line_may_hold_any_printable_text() -> None:
    assert names.line("größe 42 / €", what="key") == "größe 42 / €"


@pytest.mark.parametrize("text", ["a\x00b", "two\nlines", "\ud800"])
def test_a_line_holds_nothing_unprintable(text: str) -> None:
    with pytest.raises(InvalidName, match="unprintable"):
        names.line(text, what="key")


def test_tags_have_bounded_keys_and_values() -> None:
    assert names.tags({"channel": "the web"}) == {"channel": "the web"}

    with pytest.raises(InvalidName, match="a key of tags has 65 characters"):
        names.tags({"x" * 65: "1"})
    with pytest.raises(InvalidName, match=r"tags\['n'\] is 3, of type int"):
        names.tags({"n": 3})
    with pytest.raises(WrongArguments, match="takes a dict"):
        names.tags(["channel"])

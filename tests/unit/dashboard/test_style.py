"""Colours that can be read, and templates that need nothing but 'self'."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dashboard.presenters.badges import LOOKS, UNDO_ICON

HERE = Path(__file__).resolve().parents[3] / "dashboard"
STATIC = HERE / "static" / "saga_dashboard"
CSS = (STATIC / "console.css").read_text()
TOKENS: dict[str, str] = dict(
    re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\);", CSS)
)
THEMES = ("light", "dark")
TEMPLATES = sorted((HERE / "templates").rglob("*.html"))
FORBIDDEN = re.compile(
    r"\|\s*safe\b|autoescape off|<style|\sstyle=|\son\w+=|https?://|<script(?![^>]*src)"
)


def colour(token: str, theme: str) -> str:
    return TOKENS[token].split(", ")[THEMES.index(theme)]


def luminance(value: str) -> float:
    parts = [int(value[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("look", LOOKS)
def test_a_badge_can_be_read(look: str, theme: str) -> None:
    text, tint = colour(f"{look}-text", theme), colour(f"{look}-tint", theme)

    assert contrast(text, tint) >= 7


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["page", "raised"])
@pytest.mark.parametrize(
    ("token", "least"),
    [("text", 7), ("muted", 4.5), ("accent", 4.5), ("danger", 4.5), ("control", 3)],
)
def test_text_and_controls_stand_out(
    token: str, least: float, ground: str, theme: str
) -> None:
    assert contrast(colour(token, theme), colour(ground, theme)) >= least


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("look", LOOKS)
def test_a_fill_stands_out_from_the_page(look: str, theme: str) -> None:
    assert contrast(colour(look, theme), colour("page", theme)) >= 3


def test_every_look_has_an_icon() -> None:
    tree = ElementTree.parse(STATIC / "icons.svg")  # noqa: S314 - our own file
    icons = {each.get("id") for each in tree.getroot()}

    assert {*LOOKS, UNDO_ICON} <= icons


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_needs_no_exception_from_the_policy(template: Path) -> None:
    assert FORBIDDEN.findall(template.read_text()) == []


def test_what_is_loaded_stays_small() -> None:
    sizes = {
        name: (STATIC / name).stat().st_size for name in ("console.js", "console.css")
    }

    assert sizes["console.js"] <= 12 * 1024
    assert sizes["console.css"] <= 20 * 1024

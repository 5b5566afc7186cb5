"""
Every block of Python on a page runs, from top to bottom, as it stands there.

A block whose first line is a comment that names a file, such as
``# orders/actions.py``, is part of that file; all others share one namespace a page.
Between two blocks, and while a block waits for a result, the work is done that a
cluster would do. Functions that are called ``test_…`` are called once their block
has run.
"""

from __future__ import annotations

import ast
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from saga_flow.authoring import observing
from saga_flow.testing import drain, isolated_registry
from tests.integration.docs.outside import Modules, world
from tests.integration.docs.pages import DOCS, PAGES, ROOT, Block, blocks, name_of

WITH_CODE: Final = [page for page in PAGES if blocks(page)]
FIXTURES: Final[Mapping[str, Callable[[], Any]]] = {
    "db": lambda: None,
    "client": Client,
}


@pytest.fixture
def modules(
    monkeypatch: pytest.MonkeyPatch, settings: Any, db: None
) -> Iterator[Modules]:
    """The examples' world, with somebody who works while the examples wait."""
    settings.ROOT_URLCONF = "orders.urls"
    works = SimpleNamespace(
        monotonic=time.monotonic,
        pause=lambda _seconds: drain(),
        apause=lambda _seconds: sync_to_async(drain)(),
    )
    monkeypatch.setattr(observing, "clock", works)
    with isolated_registry(), world() as made:
        yield made


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, modules: Modules) -> None:
    if page == DOCS / "testing.md":
        _run_all(
            modules, [each for each in blocks(DOCS / "authoring.md") if each.module]
        )

    assert _run_all(modules, blocks(page)) > 0


def test_the_pages_for_authors_have_examples() -> None:
    named = {name_of(page) for page in WITH_CODE}

    assert {"README.md", "docs/authoring.md", "docs/testing.md"} <= named


def test_an_example_that_is_wrong_is_found(modules: Modules) -> None:
    wrong = Block(page="docs/none.md", line=7, code="assert 1 == 2\n")

    with pytest.raises(AssertionError) as caught:
        _run_all(modules, [wrong])

    assert Path(caught.traceback[-1].path) == ROOT / "docs/none.md"
    assert caught.traceback[-1].lineno == 6


def _run_all(modules: Modules, of_page: list[Block]) -> int:
    for block in of_page:
        if block.is_a_test_module:
            # run by a pytest of its own: see tests/integration/testing/test_plugin.py
            continue
        page = modules.get(f"page_{Path(block.page).stem}")
        module = modules.get(block.module) if block.module else page
        vars(module).setdefault("BASE_DIR", ROOT)
        _run(block, module)
        drain()
    return len(of_page)


def _run(block: Block, module: ModuleType) -> None:
    # The line numbers of the page, so that a failure names the place to mend.
    tree = ast.parse("\n" * (block.line - 1) + block.code)
    code = compile(tree, str(ROOT / block.page), "exec", dont_inherit=True)
    exec(code, vars(module))  # noqa: S102 - the text is this project's own
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            _call(vars(module)[node.name])


def _call(test: Any) -> None:
    test(**{name: FIXTURES[name]() for name in inspect.signature(test).parameters})

"""Rules that no linter has. They read source text, so they import nothing."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.architecture

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("saga_flow", "dashboard")
MAX_MODULE, MAX_FUNCTION, MAX_METHODS, MAX_PARAMETERS = 400, 50, 15, 6

BANNED_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common"}

# The authoring facades are as wide as what they offer. They stay typed signatures
# that hand on to functions, and carry nothing else; Observed is a handle's facts.
FACADES = {"Workflow", "Handle", "Observed"}

# Who may go around the store. None but the store writes an engine table: the others
# read, or, like migrations and the testing kit, prepare tables.
MAY_QUERY = {"models", "store", "queries", "admin", "migrations", "testing"}

# Where a database transaction may begin.
MAY_BEGIN = {"store", "migrations", "testing"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[ast.AST, frozenset[ast.AST]], str | None]


def _too_long(node: ast.AST, _: frozenset[ast.AST]) -> str | None:
    if not isinstance(node, Function):
        return None
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines <= MAX_FUNCTION:
        return None
    return f"{node.name} is {lines} lines long; {MAX_FUNCTION} are the limit"


def _too_many_methods(node: ast.AST, _: frozenset[ast.AST]) -> str | None:
    if not isinstance(node, ast.ClassDef) or node.name in FACADES:
        return None
    count = sum(isinstance(member, Function) for member in node.body)
    if count <= MAX_METHODS:
        return None
    return f"{node.name} has {count} methods; {MAX_METHODS} are the limit"


def _too_many_parameters(node: ast.AST, exempt: frozenset[ast.AST]) -> str | None:
    # An option signature is one TypedDict behind **, which counts as nothing here.
    if not isinstance(node, Function) or node in exempt:
        return None
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    if names[:1] in (["self"], ["cls"]):
        del names[0]
    if len(names) <= MAX_PARAMETERS:
        return None
    return f"{node.name} takes {len(names)} parameters; {MAX_PARAMETERS} are the limit"


def _queries(node: ast.AST, _: frozenset[ast.AST]) -> str | None:
    if isinstance(node, ast.Attribute) and node.attr == "objects":
        return "a query outside the store; ask saga_flow.store or saga_flow.queries"
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"save", "asave", "bulk_create", "bulk_update"}
    ):
        return f".{node.func.attr}() outside the store; only saga_flow.store writes"
    return None


def _begins(node: ast.AST, _: frozenset[ast.AST]) -> str | None:
    if isinstance(node, ast.Attribute) and ast.unparse(node) == "transaction.atomic":
        return "transaction.atomic outside the store; transactions begin there"
    if isinstance(node, ast.ImportFrom) and node.module == "django.db.transaction":
        return "django.db.transaction is imported by parts; transactions begin in store"
    return None


def _rules(layer: str) -> Iterator[Rule]:
    yield from (_too_long, _too_many_methods, _too_many_parameters)
    if layer not in MAY_QUERY:
        yield _queries
    if layer not in MAY_BEGIN:
        yield _begins


def _complaints(text: str, layer: str) -> list[str]:
    tree = ast.parse(text)
    exempt = _of_facades(tree)
    found = [
        f"line {getattr(node, 'lineno', 0)}: {why}"
        for rule in _rules(layer)
        for node in ast.walk(tree)
        if (why := rule(node, exempt))
    ]
    lines = text.count("\n")
    if lines > MAX_MODULE:
        found.append(f"the module is {lines} lines long; {MAX_MODULE} are the limit")
    return found


def _of_facades(tree: ast.AST) -> frozenset[ast.AST]:
    return frozenset(
        member
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in FACADES
        for member in node.body
    )


def _modules() -> list[str]:
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in found
        if "migrations" not in path.parts
    )


def _layer(module: str) -> str:
    package, _, rest = module.partition("/")
    first = rest.partition("/")[0].removesuffix(".py")
    return first if package == "saga_flow" else package


@pytest.mark.parametrize("module", _modules())
def test_a_module_keeps_the_house_rules(module: str) -> None:
    assert _complaints((ROOT / module).read_text(), _layer(module)) == []


def test_no_module_is_named_after_nothing() -> None:
    parts = {
        (module, part)
        for module in _modules()
        for part in Path(module).with_suffix("").parts
    }

    assert [module for module, part in sorted(parts) if part in BANNED_NAMES] == []


LONG = "def f():\n" + "    x = 1\n" * MAX_FUNCTION
WIDE = "class C:\n" + "".join(
    f"    def m{n}(self): ...\n" for n in range(MAX_METHODS + 1)
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LONG, "f is 51 lines long"),
        (WIDE, "C has 16 methods"),
        ("def f(a, b, c, d, *, e, g, h): ...\n", "f takes 7 parameters"),
        ("Run.objects.get(pk=1)\n", "a query outside the store"),
        ("run.save()\n", r".save() outside the store"),
        ("with transaction.atomic(): ...\n", "transaction.atomic outside the store"),
        ("from django.db.transaction import atomic\n", "imported by parts"),
        ("\n" * (MAX_MODULE + 1), "the module is 401 lines long"),
    ],
    ids=lambda value: value[:30].split("\n")[0],
)
def test_a_broken_rule_is_found(text: str, complaint: str) -> None:
    [found] = _complaints(text, "engine")

    assert complaint in found


@pytest.mark.parametrize(
    "text",
    [
        "def f(self, a, b, c, d, e, g, **options): ...\n",
        WIDE.replace("class C", "class Workflow"),
        "class Handle:\n    def using(self, a, b, c, d, e, f, g, h): ...\n",
    ],
    ids=["self does not count", "facade's methods", "facade's parameters"],
)
def test_an_allowed_shape_is_left_alone(text: str) -> None:
    assert _complaints(text, "engine") == []


def test_the_store_may_query_and_begin() -> None:
    text = "with transaction.atomic():\n    Run.objects.create()\n"

    assert _complaints(text, "store") == []


def test_saga_flow_imports_without_settings_and_without_models() -> None:
    script = (
        "import sys, saga_flow; "
        "print([n for n in sys.modules if n.startswith('saga_flow.models')])"
    )
    env = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


DEBUGGING = {"print", "breakpoint", "pprint", "set_trace"}


@pytest.mark.covers("M-MISC-4")
@pytest.mark.parametrize("package", PACKAGES)
def test_no_debugging_call_is_left_in(package: str) -> None:
    left = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) in DEBUGGING
    ]

    assert left == []

"""The world that the examples of the documentation deal with: it always agrees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from django.apps import AppConfig, apps

APP: Final = "orders"

_GATEWAY: Final = """
def charge(order_id, cents, idempotency_key):
    return f"ch_{order_id}"

def refund(charge, idempotency_key):
    assert idempotency_key.endswith(":undo")
"""
_WAREHOUSE: Final = """
def reserve(order_id):
    pass

def release(order_id):
    pass

def ship(order_id):
    return f"T-{order_id}"

def lines_of(order_id):
    return ["A-1", "B-2"]
"""
_POST: Final = """
class AddressRefused(Exception):
    pass

def mail(address, text):
    if "@" not in address:
        raise AddressRefused(address)

def letter(address, text):
    pass
"""

SOURCES: Final = {"gateway": _GATEWAY, "warehouse": _WAREHOUSE, "post": _POST}


class Modules:
    """The modules that the pages' blocks make, gone again at the end."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def get(self, name: str, *, code: str = "") -> ModuleType:
        """Return the module of this name, made at the first time."""
        if name in sys.modules:
            return sys.modules[name]
        module = ModuleType(name)
        module.__file__ = f"/{name.replace('.', '/')}.py"
        self._made.append(name)
        sys.modules[name] = module
        package, _, last = name.rpartition(".")
        if package:
            setattr(self.get(package), last, module)
        exec(code, vars(module))  # noqa: S102 - the text is this project's own
        return module

    def forget(self) -> None:
        """Take every one of them out again."""
        for name in self._made:
            del sys.modules[name]


@contextmanager
def world() -> Iterator[Modules]:
    """An installed app ``orders`` whose gateway, warehouse and post do as told."""
    modules = Modules()
    package = modules.get(APP)
    package.__path__ = []
    for name, code in SOURCES.items():
        modules.get(f"{APP}.{name}", code=code)
    config = AppConfig(APP, package)
    config.models = {}
    apps.app_configs[APP] = config
    try:
        yield modules
    finally:
        del apps.app_configs[APP]
        modules.forget()

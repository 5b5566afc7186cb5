"""
In the tenant of a run while ``handle()`` runs, and outside it in engine calls.

What the engine reads and writes meanwhile is not the tenant's: a hook that switches
schemas must not move the engine's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from saga_flow import tenancy
from saga_flow.engine.passes import Pass
from saga_flow.engine.unwinding import Broken
from saga_flow.exceptions import TenancyFailed


class Stay:
    """One stay of ``handle()`` in the tenant of its run."""

    def __init__(self, pass_: Pass) -> None:
        self._pass = pass_
        self._inside: tenancy.Entered | None = None

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be in the tenant meanwhile; one that can't be had ends the pass."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """
        Leave the tenant while the block runs.

        A tenant that can't be had again ends the pass, unless it is over already:
        then it stays over in the same way.
        """
        self._leave()
        try:
            yield
        except Exception:
            self._enter()
            raise
        except BaseException:
            self._enter_if_possible()
            raise
        else:
            self._enter()

    def _enter(self) -> None:
        try:
            self._inside = tenancy.enter(self._pass.claim.tenancy)
        except TenancyFailed as error:
            raise self._pass.leave(Broken(error)) from error

    def _enter_if_possible(self) -> None:
        try:
            self._inside = tenancy.enter(self._pass.claim.tenancy)
        except TenancyFailed:
            tenancy.logger.exception("run=%s is unwound outside", self._pass.claim.run)

    def _leave(self) -> None:
        inside, self._inside = self._inside, None
        tenancy.leave(inside)

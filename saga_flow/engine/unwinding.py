"""How a pass leaves ``handle()`` before its end."""

from __future__ import annotations

from typing import Any

from saga_flow.records import Wait


class Unwind(BaseException):
    """
    Leaves ``handle()``; ``except Exception`` can't swallow it.

    Whoever swallows it all the same only delays it: the pass has noted it, and each
    later engine call raises it again.
    """


class Returned(Unwind):
    """``handle()`` came to its end; never raised."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__("returned")


class Suspended(Unwind):
    """Nothing inline is left; the run waits."""

    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        super().__init__(wait.reason)


class SliceOver(Unwind):
    """Other runs get the worker; *taken* ordinals have nothing recorded yet."""

    def __init__(self, taken: int = 1) -> None:
        self.taken = taken
        super().__init__("slice over")


class Paused(Unwind):
    """The run is to be interrupted, until somebody resumes it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Mismatched(Unwind):
    """Recorded history and code disagree, or history itself is broken."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class TooLarge(Unwind):
    """The run would grow over a structural limit; it fails, whoever catches that."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class Outdone(Unwind):
    """A commit of this pass was refused: it ends, and starts nothing more."""


class Broken(Unwind):
    """A commit could not be made at all."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))

"""A condition that a test waits for, in its own process or inside the window."""

from __future__ import annotations

import inspect
from collections.abc import Callable


class Awaited:
    """A condition that is asked again and again; what it looks into may not be there yet."""

    def __init__(self, condition: Callable[[], object]) -> None:
        self._condition = condition
        self._missing: Exception | None = None

    def holds(self) -> bool:
        """A list that is still empty, or a file that is still missing, means "not yet"."""
        try:
            is_so, self._missing = bool(self._condition()), None
        except (LookupError, OSError) as error:
            is_so, self._missing = False, error
        return is_so

    def failure(self, timeout: float, also: str = "") -> AssertionError:
        """What to raise when time is up."""
        words = f"still not after {timeout} s: {self._source()}"
        if self._missing is not None:
            words += f"\nThe condition raised {type(self._missing).__name__}: {self._missing}"
        failure = AssertionError(f"{words}\n{also}" if also else words)
        failure.__cause__ = self._missing
        return failure

    def _source(self) -> str:
        try:
            return inspect.getsource(self._condition).strip()
        except (OSError, TypeError):
            return repr(self._condition)

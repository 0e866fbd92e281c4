"""One request and its answer, apart from the line that carries them: what came, what left, and how it broke."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from traindeck.services.storage.data_ports import Counted, Sink

ChooseSink = Callable[[int, Mapping[str, str]], Sink | None]
"""Told status and headers, names who takes the body; None: it is kept in the answer."""


class LineBroken(Exception):
    """The connection failed under a request; its cause is what the system or the parser said."""

    def __init__(self, cause: BaseException, *, was_stale: bool) -> None:
        super().__init__(str(cause))
        self.cause = cause
        # It had served before and died in silence: the server did not see this request.
        self.was_stale = was_stale


@dataclass(slots=True)
class Answered:
    """An answer as it came; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    content: Any = None
    """What was made of it by who asked."""


@dataclass(slots=True)
class Sent:
    """How much of a body is really with the system."""

    counted: Counted | None
    head_bytes: int
    from_source_bytes: int = 0
    passed_bytes: int = 0
    told_bytes: int = 0

    def up_to(self, handed_bytes: int) -> None:
        of_body = handed_bytes - self.head_bytes
        if self.counted is not None and of_body > self.told_bytes:
            self.counted(of_body - self.told_bytes)
            self.told_bytes = of_body

    def take_back(self) -> None:
        if self.counted is not None and self.told_bytes:
            self.counted(-self.told_bytes)
            self.told_bytes = 0

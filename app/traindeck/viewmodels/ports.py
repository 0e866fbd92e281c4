"""What all rooms share: how a state is meant, what panels ask the user, and what a layer above them must bring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from traindeck.domain.lab import LabDiskUsage, LabSight
from traindeck.domain.texts import Text
from traindeck.runtime.tasks import user_is_asked

Rows = tuple[tuple[str, ...], ...]
"""Names and values as they were typed, in their order; some tables have more columns."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What the user is asked to give up: the question, what it means, and the word on the button."""

    question: Text
    facts: tuple[Text, ...]
    action: Text
    typed: Text | None = None  # to be typed first, where much would be lost


ConfirmLoss = Callable[[Loss], Awaitable[bool]]

Confirm = Callable[[Text, Text], Awaitable[bool]]
"""Asks the user: the question, and the word on the button that does it."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of several ways to go on, and the words on its button."""

    id: str
    action: Text
    is_advised: bool = False
    is_loss: bool = False
    """What it does cannot be undone."""


Choose = Callable[[Text, Sequence[Text], Sequence[Way]], Awaitable[str]]
"""Asks the user which way: the question, and what the ways mean. Empty: none of them."""


def while_asking() -> AbstractContextManager[None]:
    """Of the work that shows a dialog: until it is answered nobody is told that it takes its time."""
    return user_is_asked()


class Asks(Protocol):
    """Whoever can ask the user; the window is one."""

    async def confirm(self, question: Text, action: Text) -> bool: ...

    async def choose(self, question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str: ...


class Stateful(QObject):
    """Has a frozen record of what it says, and tells when that is another one."""

    changed = Signal()
    state: Any

    def _become(self, **changes: object) -> None:
        state = replace(self.state, **changes)
        if state != self.state:
            self.state = state
            self.changed.emit()


class Tone(Enum):
    """What a state means to the person looking; the theme gives each a colour."""

    WAITING = auto()
    RUNNING = auto()
    GOOD = auto()
    BAD = auto()
    DOUBTFUL = auto()
    QUIET = auto()


class Tasks(Protocol):
    """Owns what a dialog starts; each has a name and may be ended by it."""

    def start(self, name: str, work: Callable[[], Awaitable[object]], *, words: Text | None = None) -> bool:
        """False: it runs already, or the window is going. `words` are told of where it takes its time."""

    def cancel(self, name: str) -> None: ...

    def is_running(self, name: str) -> bool: ...


REST_S = 1.0
"""For so long after a job was taken, asking once more is the same request: a double click, a key held down."""


class LabService(Protocol):
    """The Lab of this home, seen, started, ended and emptied."""

    root: Path

    async def look(self) -> LabSight: ...

    async def contents(self) -> LabDiskUsage: ...

    async def measure(self, on_part: Callable[[LabDiskUsage], None]) -> LabDiskUsage: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def empty(self, on_files: Callable[[int], None]) -> None: ...

"""What happened in this window, in order: told once, and shown as a toast, a banner or a line of a list."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from PySide6.QtCore import QObject, Signal

from traindeck.domain.texts import Text
from traindeck.runtime.clock import Clock, utc_now

_KEPT = 1000
_UNDOABLE = 20


class NewsKind(Enum):
    """What sort of news it is."""

    DONE = "done"  # what somebody asked for was carried out
    FAILED = "failed"  # it was not
    NOTE = "note"  # nobody asked, and it is worth knowing
    BEGAN = "began"  # a condition holds from now on: there is a banner for it
    OVER = "over"  # and no longer


class Subject(Enum):
    """What a piece of news is about."""

    PLACE = "place"  # named by its OBS path
    RUN = "run"  # by its id
    LOG = "log"  # a line of it, by run, worker and the byte where it begins
    TRANSFER = "transfer"  # by its number
    ACCOUNT = "account"
    LAB = "lab"
    FILE = "file"  # of this computer, by its path


class SystemNotice(Enum):
    """What the operating system may tell, also while the window is not in sight."""

    RUN_FINISHED = "run_finished"
    RUN_FAILED = "run_failed"
    RUN_STOPPED = "run_stopped"
    RUN_HANGS = "run_hangs"
    RUN_NAN = "run_nan"
    LINE_FOUND = "line_found"
    TRANSFER_DONE = "transfer_done"
    TRANSFER_FAILED = "transfer_failed"
    KEYS_REFUSED = "keys_refused"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Topic:
    """Where news leads to; made of words alone, so that it can be kept."""

    subject: Subject
    name: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A button of a condition that asks something, in its banner and in the notification of the desktop."""

    id: str
    words: Text
    act: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Happening:
    """One piece of news."""

    number: int
    at: datetime
    kind: NewsKind
    title: Text
    hint: Text = Text("")  # noqa: RUF009 - it does not change
    detail: str = ""
    name: str = ""
    """Of the task or condition it is about: who has the same name takes its place in sight."""
    topic: Topic | None = None
    undo: Callable[[], None] | None = None
    retry: Callable[[], None] | None = None
    look: Callable[[], None] | None = None
    """Looks at the dataset that this is about."""
    answers: tuple[Answer, ...] = ()
    """What the user can say to it."""
    is_quiet: bool = False
    """For the record only: it is in sight elsewhere."""
    notice: SystemNotice | None = None
    mark: str = ""
    """Told once for good: who keeps what happened passes over a second one, also after a restart."""

    @property
    def stays(self) -> bool:
        """As a toast, until somebody takes it away; what is to be seen elsewhere goes by itself."""
        return self.kind is NewsKind.FAILED and not self.is_quiet


class Journal(QObject):
    """Everything that was said; whoever has something to say says it here, on the UI thread."""

    told = Signal(object)
    """A Happening."""
    undo_changed = Signal()
    """`last_undoable` is another one."""
    undone = Signal(int)
    """What this one told of is about to be taken back, whoever asked for it."""

    def __init__(self, clock: Clock = utc_now) -> None:
        super().__init__()
        self._clock = clock
        self._numbers = itertools.count(1)
        self._entries: deque[Happening] = deque(maxlen=_KEPT)
        self._undoable: deque[Happening] = deque(maxlen=_UNDOABLE)

    @property
    def entries(self) -> tuple[Happening, ...]:
        """The oldest first."""
        return tuple(self._entries)

    @property
    def last_undoable(self) -> Happening | None:
        return self._undoable[-1] if self._undoable else None

    def tell(
        self,
        kind: NewsKind,
        title: Text,
        hint: Text | None = None,
        *,
        detail: str = "",
        name: str = "",
        topic: Topic | None = None,
        undo: Callable[[], None] | None = None,
        retry: Callable[[], None] | None = None,
        look: Callable[[], None] | None = None,
        answers: tuple[Answer, ...] = (),
        is_quiet: bool = False,
        notice: SystemNotice | None = None,
        mark: str = "",
    ) -> Happening:
        happening = Happening(
            number=next(self._numbers),
            at=self._clock(),
            kind=kind,
            title=title,
            hint=hint or Text(""),
            detail=detail,
            name=name,
            topic=topic,
            undo=undo,
            retry=retry,
            look=look,
            answers=answers,
            is_quiet=is_quiet,
            notice=notice,
            mark=mark,
        )
        self._entries.append(happening)
        if undo is not None:
            self._undoable.append(happening)
        self.told.emit(happening)
        if undo is not None:
            self.undo_changed.emit()
        return happening

    def done(
        self,
        title: Text,
        *,
        topic: Topic | None = None,
        undo: Callable[[], None] | None = None,
        look: Callable[[], None] | None = None,
    ) -> None:
        """What was asked for is carried out: the most frequent news."""
        self.tell(NewsKind.DONE, title, topic=topic, undo=undo, look=look)

    def undo(self, number: int) -> None:
        """Take back what this one told of; once only."""
        found = next((one for one in self._undoable if one.number == number), None)
        if found is not None and found.undo is not None:
            self._undoable.remove(found)
            self.undo_changed.emit()
            self.undone.emit(number)
            found.undo()

    def undo_last(self) -> None:
        """Take back the last thing that can be."""
        if self._undoable:
            self.undo(self._undoable[-1].number)

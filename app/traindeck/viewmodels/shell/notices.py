"""What holds at this moment and what was just done, waiting to be shown: banners and toasts."""

from __future__ import annotations

import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from PySide6.QtCore import QObject, Signal, qVersion

from traindeck import __version__
from traindeck.domain.errors import AppError, ClockOff, DiskFull, KeysRefused, Unexpected
from traindeck.domain.texts import Text
from traindeck.viewmodels.shell.journal import Answer, Happening, Journal, NewsKind, SystemNotice, Topic
from traindeck.viewmodels.shell.telling import is_told_at_once

log = logging.getLogger(__name__)

MOST_TOASTS = 4
CLOCK, DISK, LAB_STOPPED = "clock", "disk", "lab"
KEYS, UNREACHABLE = "keys of ", "way to "
"""These two with the name of an account."""


@dataclass(frozen=True, slots=True)
class Mending:
    """The button that mends it."""

    words: Text
    act: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that keeps the program from its work, from when it began until it is over."""

    name: str
    title: Text
    hint: Text
    detail: str = ""
    mending: Mending | None = None
    is_error: bool = True
    answers: tuple[Answer, ...] = ()
    topic: Topic | None = None
    began: int = 0
    """Its number in the journal."""


class Notices(QObject):
    """Conditions are raised and cleared by who knows of them; toasts come from the journal."""

    changed = Signal()
    """Another condition holds, or one no longer does."""
    cleared = Signal(str)
    """The condition of this name no longer holds, or was answered."""
    toasts_changed = Signal()
    crashed = Signal(str)
    """A mistake of ours, as the text of a report; emitted on the UI thread."""

    _arrived = Signal(str)

    def __init__(self, journal: Journal | None = None) -> None:
        super().__init__()
        self.journal = journal or Journal()
        self._conditions: list[Condition] = []
        self._toasts: list[Happening] = []
        self._retries: dict[str, Callable[[], None]] = {}
        self._mendings: dict[str, Mending] = {}
        self.journal.told.connect(self._on_told)
        self.journal.undone.connect(self.dismiss)
        self._arrived.connect(self._crash)  # from any thread to this one

    # conditions

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Errors before the rest, the newest first."""
        return tuple(sorted(self._conditions, key=lambda one: (one.is_error, one.began), reverse=True))

    @property
    def current(self) -> Condition | None:
        return next(iter(self.conditions), None)

    def holds(self, name: str) -> bool:
        return self.condition(name) is not None

    def condition(self, name: str) -> Condition | None:
        return next((one for one in self._conditions if one.name == name), None)

    def hold(
        self,
        name: str,
        title: Text,
        hint: Text | None = None,
        detail: str = "",
        *,
        mending: Mending | None = None,
        is_error: bool = True,
        topic: Topic | None = None,
        answers: tuple[Answer, ...] = (),
        notice: SystemNotice | None = None,
        mark: str = "",
    ) -> None:
        """This holds from now on; the same once more changes its words, and is no news unless they are others."""
        before = self.condition(name)
        began = before.began if before else 0
        if before is None or before.title != title:
            happening = self.journal.tell(
                NewsKind.BEGAN, title, hint,
                detail=detail, name=name, topic=topic, answers=answers, notice=notice, mark=mark,
            )  # fmt: skip
            began = began or happening.number
        mending = mending or self._mendings.get(name)
        condition = Condition(name, title, hint or Text(""), detail, mending, is_error, answers, topic, began)
        if condition != before:
            self._conditions = [*(one for one in self._conditions if one.name != name), condition]
            self._take_away(lambda toast: toast.title == title)
            self.changed.emit()

    def clear(self, name: str) -> None:
        """It is over."""
        over = self.condition(name)
        if over is not None:
            self.journal.tell(NewsKind.OVER, over.title, name=name)
            self.withdraw(name)

    def withdraw(self, name: str) -> None:
        """It was answered, and may still be so."""
        if self.holds(name):
            self._conditions = [one for one in self._conditions if one.name != name]
            self.changed.emit()
            self.cleared.emit(name)

    def mends(self, name: str, mending: Mending) -> None:
        """What the banner of this condition offers whoever raises it."""
        self._mendings[name] = mending

    # the report of a TaskScope

    def report(self, name: str, error: AppError) -> None:
        """`name` is the task's; what keeps everything from going on is a condition, anything else is told once."""
        kind = self._condition_of(error)
        if kind:
            self.hold(kind, error.title, error.hint, error.detail)
        is_told = bool(kind) or isinstance(error, Unexpected) or self._stands(error)
        retry = self._retries.get(name) if error.retryable else None
        if not kind:
            self.journal.tell(
                NewsKind.FAILED, error.title, error.hint, detail=error.detail, name=name, retry=retry, is_quiet=is_told
            )
        if isinstance(error, Unexpected):
            self._crash(error.detail)

    def succeeded(self, name: str) -> None:
        """The task has come to a good end: what was said about it no longer holds."""
        self._take_away(lambda toast: toast.kind is NewsKind.FAILED and toast.name == name)

    def can_retry(self, name: str, action: Callable[[], None]) -> None:
        """Offer `action` with the errors of this task that are worth another try."""
        self._retries[name] = action

    def _condition_of(self, error: AppError) -> str:
        if isinstance(error, ClockOff):
            return CLOCK
        return DISK if isinstance(error, DiskFull) else ""

    def _stands(self, error: AppError) -> bool:
        """A banner says it already."""
        if isinstance(error, KeysRefused):
            return any(one.name.startswith(KEYS) for one in self._conditions)
        return any(error.title in (one.title, one.hint, *one.hint.fields.values()) for one in self._conditions)

    # toasts

    @property
    def toasts(self) -> tuple[Happening, ...]:
        """The oldest first."""
        return tuple(self._toasts)

    def dismiss(self, number: int) -> None:
        self._take_away(lambda toast: toast.number == number)

    def show(self, happening: Happening) -> None:
        """As a toast."""
        self._toasts = [*(toast for toast in self._toasts if not _takes_its_place(happening, toast)), happening]
        while len(self._toasts) > MOST_TOASTS:
            least = next((toast for toast in self._toasts if not toast.stays), self._toasts[0])
            self._toasts.remove(least)
        self.toasts_changed.emit()

    def _on_told(self, happening: Happening) -> None:
        if is_told_at_once(happening):
            self.show(happening)

    def _take_away(self, is_meant: Callable[[Happening], bool]) -> None:
        left = [toast for toast in self._toasts if not is_meant(toast)]
        if left != self._toasts:
            self._toasts = left
            self.toasts_changed.emit()

    # mistakes of ours

    def crash(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """For `sys.excepthook`; comes from any thread."""
        if issubclass(kind, KeyboardInterrupt | SystemExit):
            sys.__excepthook__(kind, error, trace)
            return
        log.critical("nobody caught this", exc_info=(kind, error, trace))
        where = f"in thread {threading.current_thread().name}\n"
        self._arrived.emit(where + "".join(traceback.format_exception(kind, error, trace)))

    def _crash(self, detail: str) -> None:
        self.crashed.emit(report_text(detail))


def _takes_its_place(happening: Happening, toast: Happening) -> bool:
    """News of the same thing, or the same words once more: two of them read as one, and Ctrl+Z knows what each did."""
    is_same = (toast.kind, toast.title, toast.hint) == (happening.kind, happening.title, happening.hint)
    return bool(happening.name and toast.name == happening.name) or (is_same and toast.retry is None)


def report_text(detail: str) -> str:
    """What we need to know to mend it; in English, because we read it."""
    return "\n".join(
        (
            f"TrainDeck {__version__}",
            f"Python {platform.python_version()}, Qt {qVersion()}",
            f"{platform.system()} {platform.release()} {platform.machine()}",
            "",
            detail.strip(),
        )
    )

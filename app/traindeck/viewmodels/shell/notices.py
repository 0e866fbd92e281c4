"""Errors and news waiting to be shown."""

from __future__ import annotations

import itertools
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
from traindeck.domain.errors import AppError, KeysRefused, Unexpected
from traindeck.domain.texts import Text, text

log = logging.getLogger(__name__)

_KEPT = 20
_KEYS = "keys of "


@dataclass(frozen=True, slots=True)
class Notice:
    """One message of the bar."""

    number: int
    name: str  # of the task it is about
    title: Text
    hint: Text
    detail: str = ""
    is_error: bool = True
    retry: Callable[[], None] | None = None
    retry_words: Text | None = None  # None: as usual
    times: int = 1


class Notices(QObject):
    """What went wrong and what is new; the window shows it, nobody else needs to."""

    changed = Signal()
    crashed = Signal(str)
    """A mistake of ours, as the text of a report; emitted on the UI thread."""

    _arrived = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._notices: list[Notice] = []
        self._retries: dict[str, Callable[[], None]] = {}
        self._arrived.connect(self._crash)  # from any thread to this one

    @property
    def all(self) -> tuple[Notice, ...]:
        return tuple(self._notices)

    @property
    def current(self) -> Notice | None:
        """Errors before news, the newest first."""
        return max(self._notices, key=lambda notice: (notice.is_error, notice.number), default=None)

    def report(self, name: str, error: AppError) -> None:
        """The report of a TaskScope: `name` is the task's, and a second failure of it takes the place of the first."""
        if isinstance(error, KeysRefused) and any(notice.name.startswith(_KEYS) for notice in self._notices):
            return
        before = next((notice for notice in self._notices if notice.name == name and notice.is_error), None)
        retry = self._retries.get(name) if error.retryable else None
        times = before.times + 1 if before else 1
        number = next(self._numbers)
        self._put(Notice(number, name, error.title, error.hint, error.detail, retry=retry, times=times))
        if isinstance(error, Unexpected):
            self._crash(error.detail)

    def keys_refused(self, profile: str, error: AppError, words: Text, action: Callable[[], None]) -> None:
        """One message for everything that waits for other keys; it stays until `keys_work`."""
        title = text("The keys of “{name}” are refused.", name=profile)
        hint = text(
            "{why} Everything that uses this account waits; with keys that work it all goes on.", why=error.title
        )
        number = next(self._numbers)
        self._put(Notice(number, _KEYS + profile, title, hint, error.detail, retry=action, retry_words=words))

    def keys_work(self, profile: str) -> None:
        self.settled(_KEYS + profile)

    def news(
        self,
        message: Text,
        hint: Text | None = None,
        *,
        name: str = "",
        action: Callable[[], None] | None = None,
        words: Text | None = None,
    ) -> None:
        """`action` and the `words` of its button: what may be done about it."""
        number, name = next(self._numbers), name or message.english
        self._put(Notice(number, name, message, hint or Text(""), "", False, retry=action, retry_words=words))

    def can_retry(self, name: str, action: Callable[[], None]) -> None:
        """Offer `action` with the errors of this task that are worth another try."""
        self._retries[name] = action

    def settled(self, name: str) -> None:
        """The task has succeeded since: what was said about it no longer holds."""
        if any(notice.name == name for notice in self._notices):
            self._notices = [notice for notice in self._notices if notice.name != name]
            self.changed.emit()

    def dismiss(self, number: int) -> None:
        self._notices = [notice for notice in self._notices if notice.number != number]
        self.changed.emit()

    def retry(self, number: int) -> None:
        notice = next((notice for notice in self._notices if notice.number == number), None)
        if notice is not None and notice.retry is not None:
            if not notice.name.startswith(_KEYS):
                self.dismiss(number)
            notice.retry()

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

    def _put(self, notice: Notice) -> None:
        others = [other for other in self._notices if (other.name, other.is_error) != (notice.name, notice.is_error)]
        self._notices = [*others, notice][-_KEPT:]
        self.changed.emit()


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

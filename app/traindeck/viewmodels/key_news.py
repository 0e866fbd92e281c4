"""Keys that a service refused: one message in the window, and the way to others."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import KeysRefused
from traindeck.domain.profiles import LAB
from traindeck.domain.texts import text
from traindeck.runtime.listeners import Listeners
from traindeck.services.environment import ENVIRONMENT
from traindeck.viewmodels.notices import Notices


class KeyHolder(Protocol):
    """Who knows which keys are refused, and lets everybody try them again."""

    @property
    def keys_refused(self) -> Listeners[str]: ...

    def refusal(self, name: str) -> KeysRefused | None: ...

    def release(self, name: str) -> None: ...


class KeyNews(QObject):
    """Tells it once for all that waits, until the keys of the account work."""

    paste_wanted = Signal(str)
    work_again = Signal(str)

    def __init__(self, keys: KeyHolder, notices: Notices) -> None:
        super().__init__()
        self._keys = keys
        self._notices = notices
        self._ignore = keys.keys_refused.add(self._told)

    def close(self) -> None:
        self._ignore()

    def _told(self, name: str) -> None:
        refusal = self._keys.refusal(name)
        if refusal is None:
            self._notices.keys_work(name)
            self.work_again.emit(name)
        elif is_kept_here(name):
            paste = partial(self.paste_wanted.emit, name)
            self._notices.keys_refused(name, refusal, text("Paste new keys…"), paste)
        else:
            self._notices.keys_refused(name, refusal, text("Try again"), partial(self._keys.release, name))


def is_kept_here(name: str) -> bool:
    """Neither the Lab's account nor that of the environment can be given other keys."""
    return name not in (LAB, ENVIRONMENT)

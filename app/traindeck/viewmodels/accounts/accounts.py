"""The accounts to choose from, and the message when a service refuses the keys of one."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.profiles import LAB, NO_PROFILE
from traindeck.domain.texts import text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.accounts.connections import Connections
from traindeck.services.accounts.environment import ENVIRONMENT
from traindeck.services.accounts.profiles import ProfileService
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.notices import KEYS, Mending, Notices


class Accounts(QObject):
    """What the Account menu shows; `changed` comes when the list or the choice is another."""

    changed = Signal()

    def __init__(self, book: ProfileService, scope: TaskScope) -> None:
        super().__init__()
        self._book = book
        self._scope = scope
        self._told = (self.names, self.current)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(profile.name for profile in self._book.all())

    @property
    def current(self) -> str:
        return self._book.current

    @property
    def is_lab(self) -> bool:
        return self.current == LAB

    def look(self) -> None:
        """Another program, or a dialog, may have changed them."""
        self._scope.start("read the accounts", self._look, Repeat.REPLACE)

    def use(self, name: str) -> None:
        words = text("Switching to the account “{name}”…", name=name)
        self._scope.start("use an account", partial(self._use, name), Repeat.REPLACE, words)

    def remove_current(self, confirm: Confirm) -> None:
        self._scope.start("remove an account", partial(self._remove, self.current, confirm))

    async def _look(self) -> None:
        await self._book.read()
        self._tell()

    async def _use(self, name: str) -> None:
        await self._book.use(name)
        self._tell()

    async def _remove(self, name: str, confirm: Confirm) -> None:
        question = text(
            "Remove “{name}” with its settings and keys from this computer? Its runs stay in the list. "
            "No account is selected then, until you select another one in the Account menu.",
            name=name,
        )
        if await confirm(question, text("Remove")):
            await self._book.remove(name)
            self._tell()

    def _tell(self) -> None:
        now = (self.names, self.current)
        if now != self._told:
            self._told = now
            self.changed.emit()


class KeyNews(QObject):
    """Tells it once for all that waits, until the keys of the account work."""

    paste_wanted = Signal(str)
    work_again = Signal(str)

    def __init__(self, keys: Connections, notices: Notices) -> None:
        super().__init__()
        self._keys = keys
        self._notices = notices
        self.close = keys.keys_refused.add(self._told)

    def _told(self, name: str) -> None:
        refusal = self._keys.refusal(name)
        if refusal is None:
            self._notices.clear(KEYS + name)
            self.work_again.emit(name)
            return
        mending = Mending(text("Try again"), partial(self._keys.release, name))
        if is_kept_here(name):
            mending = Mending(text("Enter new keys…"), partial(self.paste_wanted.emit, name))
        self._notices.hold(
            KEYS + name,
            text("The keys of “{name}” were rejected.", name=name),
            text("{why} Everything that uses this account is waiting for valid keys.", why=refusal.title),
            refusal.detail,
            mending=mending,
            topic=Topic(Subject.ACCOUNT, name),
        )


def is_kept_here(name: str) -> bool:
    """Neither the Lab's account nor that of the environment can be given other keys."""
    return name not in (LAB, ENVIRONMENT, NO_PROFILE)

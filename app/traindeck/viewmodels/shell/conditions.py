"""What keeps the program from its work, noticed when it begins and when it is over."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, ClockOff, KeysRefused, ServiceTrouble
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.notices import CLOCK, DISK, UNREACHABLE, Mending, Notices

LOOK_AGAIN_MS = 5000
_PROBE_BYTES = 65536


def is_of_account(error: AppError) -> bool:
    """It concerns everything the account is used for, so there is one banner for it."""
    return isinstance(error, ServiceTrouble | ClockOff | KeysRefused)


class Reachability(QObject):
    """One banner for an account whose services do not answer, whoever asked them, until they do."""

    wanted = Signal()
    """Ask once more what could not be asked."""

    def __init__(self, notices: Notices) -> None:
        super().__init__()
        self._notices = notices
        self._troubles: dict[str, dict[str, AppError]] = {}
        self._again = QTimer(self, interval=LOOK_AGAIN_MS)
        self._again.timeout.connect(self.wanted)

    def told(self, profile: str, who: str, trouble: AppError | None) -> None:
        """What somebody (`who`) heard last from the services of this account."""
        known = self._troubles.setdefault(profile, {})
        # A Lab that does not run has a banner of its own, as have keys that are refused.
        if profile == LAB or trouble is None or not isinstance(trouble, ServiceTrouble | ClockOff):
            known.pop(who, None)
        else:
            known[who] = trouble
        self._show(profile)

    def forget(self, profile: str) -> None:
        """Nobody asks them any more."""
        self._troubles.pop(profile, None)
        self._show(profile)

    def _show(self, profile: str) -> None:
        troubles = list(self._troubles.get(profile, {}).values())
        all_troubles = [trouble for known in self._troubles.values() for trouble in known.values()]
        clock = next((trouble for trouble in all_troubles if isinstance(trouble, ClockOff)), None)
        away = next((trouble for trouble in troubles if not isinstance(trouble, ClockOff)), None)
        if clock is not None:
            self._notices.hold(CLOCK, clock.title, clock.hint, clock.detail)
        elif profile != LAB:
            self._notices.clear(CLOCK)
        if away is not None:
            self._notices.hold(
                UNREACHABLE + profile,
                text("The account “{name}” cannot be reached.", name=profile),
                away.paragraph(),
                away.detail,
                mending=Mending(text("Try again"), self.wanted.emit),
                topic=Topic(Subject.ACCOUNT, profile),
            )
        else:
            self._notices.clear(UNREACHABLE + profile)
        if all_troubles and not self._again.isActive():
            self._again.start()
        elif not all_troubles:
            self._again.stop()


class DiskRoom(QObject):
    """While the disk is said to be full, tries now and then whether something can be written again."""

    def __init__(self, notices: Notices, home: Path, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._notices = notices
        self._home = home
        self._disk = disk
        self._scope = scope
        self._again = QTimer(self, interval=LOOK_AGAIN_MS)
        self._again.timeout.connect(self.look)
        notices.mends(DISK, Mending(text("Try again"), self.look))
        notices.changed.connect(self._on_changed)

    def look(self) -> None:
        self._scope.start("look for room on the disk", self._look, Repeat.IGNORE)

    async def _look(self) -> None:
        condition = self._notices.condition(DISK)
        if condition is None:
            return
        try:
            await self._disk.run(
                lambda _: _write_some(_folder_of(str(condition.title.fields.get("place", "")), self._home))
            )
        except AppError:
            return  # not yet
        self._notices.clear(DISK)

    def _on_changed(self) -> None:
        if not self._notices.holds(DISK):
            self._again.stop()
        elif not self._again.isActive():
            self._again.start()


def _folder_of(place: str, home: Path) -> Path:
    """Where what could not be written was to be."""
    path = Path(place)
    if not place or not path.is_absolute():
        return home
    return next((folder for folder in (path, *path.parents) if folder.is_dir()), home)


def _write_some(folder: Path) -> None:
    with local_errors(folder), tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        file.write(bytes(_PROBE_BYTES))

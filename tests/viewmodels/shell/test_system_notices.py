"""What the system tells: each thing once, also over a restart, and only what is wanted and not looked at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from support.waiting import fail_with
from traindeck.domain.settings import NOTICES
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.services.desktop.notifications import DesktopNotifications, Notification
from traindeck.store.events import EventStore
from traindeck.store.settings import SettingsFile
from traindeck.viewmodels.shell.events import Events
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.system_notices import SystemNotices

RUN = Topic(Subject.RUN, "r1", "work")


class Desktop(DesktopNotifications):
    """Notes what it is to show."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Notification] = []

    def show(self, wanted: Notification) -> None:
        self.shown.append(wanted)


class Bench:
    def __init__(self, home: Path, scope: TaskScope, disk: BlockingCalls, store: EventStore) -> None:
        self.journal, self.desktop = Journal(), Desktop()
        file = SettingsFile(home / "settings.json")
        self.preferences = Preferences(file, disk, scope, file.read())
        self.events = Events(store, self.journal, scope, lambda: 100)
        self.notices = SystemNotices(self.events, self.preferences, self.desktop, scope)
        self.clicked: list[Topic | None] = []
        self.notices.clicked.connect(self.clicked.append)

    async def tell(self, mark: str = "", notice: SystemNotice | None = SystemNotice.RUN_FINISHED) -> None:
        said = text("“{name}” (run {number}): {state}", name="bert", number=4, state=text("Completed"))
        self.journal.tell(NewsKind.DONE, said, text("Because."), topic=RUN, notice=notice, mark=mark, is_quiet=True)
        await self.events.flush()


@asynccontextmanager
async def bench(home: Path) -> AsyncIterator[Bench]:
    with closing(BlockingCalls(1, "disk")) as disk, closing(EventStore(home / "events.db", disk)) as store:
        async with TaskScope(fail_with) as scope:
            at = Bench(home, scope, disk, store)
            yield at
            at.notices.close()


def test_every_notice_has_its_setting() -> None:
    assert {notice.value for notice in SystemNotice} == set(NOTICES)


async def test_once_also_over_a_restart_and_a_click_leads_there(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        for _ in range(2):
            await at.tell("run r1 Completed")
        await at.tell("run r1 Running", None)
        (shown,) = at.desktop.shown
        assert (shown.title, shown.body) == ("“bert” (run 4): Completed", "Because.")
        at.desktop.clicked.tell(shown.key)
        at.desktop.clicked.tell(shown.key)
        assert at.clicked == [RUN, None]
    async with bench(tmp_path) as at:
        await at.tell("run r1 Completed")
        assert at.desktop.shown == []


async def test_not_what_is_looked_at_nor_what_is_not_wanted(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        looked_at: list[Topic | None] = [RUN]
        at.notices.is_in_sight = lambda topic: topic in looked_at
        await at.tell()
        looked_at.clear()
        at.preferences.choose(NOTICES["run_finished"], False)
        await at.tell()
        assert at.desktop.shown == []
        await at.tell(notice=SystemNotice.RUN_FAILED)
        at.preferences.reset("notice_run_finished")
        await at.tell()
        assert len(at.desktop.shown) == 2
        otherwise: list[tuple[str, str, Topic]] = []
        at.notices.otherwise.connect(lambda *said: otherwise.append(said))
        at.desktop.shown[0].otherwise()
        assert otherwise == [("“bert” (run 4): Completed", "Because.", RUN)]

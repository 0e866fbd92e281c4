"""What the system tells: each thing once, also over a restart, and only what is wanted and not looked at."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.folder_cloud import FolderCloud
from support.waiting import fail_with, until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.resource_use import CPU, NPU, ResourceUse
from traindeck.domain.settings import NOTICES
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.services.desktop.notifications import DesktopNotifications, Notification
from traindeck.services.http.webhook import Webhook
from traindeck.services.notices.hang_guard import Hang, HangGuard
from traindeck.store.events import EventStore
from traindeck.store.notice_outbox import NoticeOutbox
from traindeck.store.settings import SettingsFile
from traindeck.viewmodels.jobs.runs.hang_news import HangNews
from traindeck.viewmodels.shell.events import Events
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.system_notices import SystemNotices
from traindeck.viewmodels.shell.webhook_notices import WebhookNotices

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


class Told(Webhook):
    """Notes what it is to send."""

    def __init__(self, home: Path, calls: BlockingCalls) -> None:
        super().__init__(lambda: "https://example.com/hook", NoticeOutbox(home / "notices"), calls, calls)
        self.told: list[Mapping[str, object]] = []

    def tell(self, mark: str, content: Mapping[str, object]) -> None:
        assert mark == "run r1 Completed"
        self.told.append(content)


async def test_the_webhook_is_told_the_same_once_and_what_is_switched_off_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        with closing(BlockingCalls(1, "webhook")) as calls:
            hook = Told(tmp_path, calls)
            async with TaskScope(fail_with) as scope:
                notices = WebhookNotices(at.events, at.preferences, hook, scope)
                await at.tell("run r1 Completed")
                await at.tell("run r1 Completed")
                await at.tell("keys", SystemNotice.KEYS_REFUSED)
                at.preferences.choose(NOTICES["run_failed"], False)
                await at.tell("run r2 Failed", SystemNotice.RUN_FAILED)
                notices.close()
    (content,) = hook.told
    assert {name: content[name] for name in ("kind", "name", "state", "reason", "run")} == {
        "kind": "run_finished", "name": "bert", "state": "Completed", "reason": "Because.", "run": "r1",
    }  # fmt: skip


async def test_a_hang_is_told_once_also_over_a_restart_and_says_that_nothing_was_done(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for shown in (1, 0):
        async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
            guard = HangGuard(
                cloud.records, cloud.connections, cloud.watch, cloud.logs, cloud.disk, lambda: None, lambda: now
            )  # fmt: skip
            news = HangNews(guard, at.journal)
            run = Run("r1", 4, "bert", "work", JobSpec(name="bert"), RunState.RUNNING, now, job_id="j")
            for _ in range(2):
                guard.suspected.tell(Hang(run, now - timedelta(minutes=12), 500))
            await at.events.flush()
            assert len(at.desktop.shown) == shown
            if shown:
                (notice,) = at.desktop.shown
                assert "may hang: no output and no activity for 12 minutes" in notice.title
                assert "does not stop it by itself" in notice.body
                at.desktop.clicked.tell(notice.key)
                assert at.clicked == [Topic(Subject.RUN, "r1", "work")]
            news.close()


async def test_a_card_that_is_left_idle_is_told_of_by_what_the_service_measured(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
        times = iter(datetime.now(UTC) + timedelta(minutes=minute) for minute in range(1000))
        guard = HangGuard(
            cloud.records, cloud.connections, cloud.watch, cloud.logs, cloud.disk, lambda: None, lambda: next(times)
        )  # fmt: skip
        news = HangNews(guard, at.journal)
        run = Run("r1", 4, "bert", "lab", JobSpec(name="bert"), RunState.RUNNING, datetime.now(UTC), job_id="j")
        await cloud.records.add(run)
        for minute in range(20):
            cloud.jobs.used["worker-0"] = ResourceUse({CPU: (80.0,) * minute, NPU: (0.0,) * minute})
            await guard._look_at_all(timedelta(days=1))
        await until(lambda: at.desktop.shown)
        (notice,) = at.desktop.shown
        assert "has not used its NPU for 6 minutes" in notice.title and "training on the CPU" in notice.body
        news.close()

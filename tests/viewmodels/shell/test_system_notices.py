"""What the system tells: each thing once, also over a restart, and only what is wanted and not looked at."""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from support.folder_cloud import FolderCloud
from support.waiting import fail_with, until
from traindeck.domain.errors import InvalidInput, LocalTrouble
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.resource_use import CPU, NPU, ResourceUse
from traindeck.domain.readings.reading import NotFinite
from traindeck.domain.settings import NOTICES
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners, TaskScope
from traindeck.services.desktop.notifications import ClickedNotification, DesktopNotifications, Notification
from traindeck.services.http.webhook import Webhook
from traindeck.services.notices.hang_guard import Hang, HangGuard, Suspected, Suspicion
from traindeck.services.notices.nan_guard import NanFound, NanGuard
from traindeck.services.notices.unused_cards import CardUnused
from traindeck.store.events import EventStore
from traindeck.store.notice_outbox import NoticeOutbox
from traindeck.store.run_waits import RunWaits
from traindeck.store.settings import SettingsFile
from traindeck.viewmodels.jobs.runs.hang_news import HangNews
from traindeck.viewmodels.jobs.runs.nan_news import NanNews
from traindeck.viewmodels.jobs.runs.rule_news import RuleNews
from traindeck.viewmodels.shell.events import Events
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.shell.notices import KEYS, Notices
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.system_notices import SystemNotices
from traindeck.viewmodels.shell.webhook_notices import WebhookNotices

RUN = Topic(Subject.RUN, "r1", "work")


class Desktop(DesktopNotifications):
    """Notes what it is to show."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Notification] = []
        self.taken_away: list[str] = []

    def show(self, wanted: Notification) -> None:
        self.shown.append(wanted)

    def take_away(self, key: str) -> None:
        self.taken_away.append(key)

    def click(self, key: str, action: str = "") -> None:
        self.clicked.tell(ClickedNotification(key, action))


class Bench:
    def __init__(self, home: Path, scope: TaskScope, disk: BlockingCalls, store: EventStore) -> None:
        self.journal, self.desktop, self.scope = Journal(), Desktop(), scope
        file = SettingsFile(home / "settings.json")
        self.preferences = Preferences(file, disk, scope, file.read())
        self.events = Events(store, self.journal, scope, lambda: 100)
        self.window = Notices(self.journal)
        self.notices = SystemNotices(self.events, self.preferences, self.desktop, self.window, scope)
        self.clicked: list[Topic | None] = []
        self.notices.clicked.connect(self.clicked.append)

    @property
    def toasts(self) -> list[str]:
        return [str(toast.title) for toast in self.window.toasts]

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
        at.desktop.click(shown.key)
        at.desktop.click(shown.key)
        assert at.clicked == [RUN, None]
    async with bench(tmp_path) as at:
        await at.tell("run r1 Completed")
        assert at.desktop.shown == []


async def test_a_loss_that_becomes_nan_is_one_notice_also_over_a_restart(tmp_path: Path) -> None:
    run = Run("r1", 4, "bert-1", "work", JobSpec(name="bert"), RunState.RUNNING, datetime.now(UTC))
    for is_restart in (False, True):
        async with bench(tmp_path) as at:
            guard = cast("NanGuard", SimpleNamespace(found=Listeners[NanFound]()))
            news = NanNews(guard, at.journal)
            for name, offset in (("loss", 170), ("val_loss", 900)):
                guard.found.tell(NanFound(run, NotFinite(name, math.nan, offset, "step 20 loss nan", "worker-0")))
            await at.events.flush()
            news.close()
            assert [one.title for one in at.desktop.shown] == ([] if is_restart else ["“bert” (run 4): loss is NaN"])
            if not is_restart:
                at.desktop.click(at.desktop.shown[0].key)
                assert at.clicked == [Topic(Subject.LOG, "r1 worker-0 170", "work")]


async def test_not_what_is_looked_at_nor_what_is_not_wanted(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        looked_at: list[Topic | None] = [RUN]
        at.notices.is_in_front = lambda: bool(looked_at)
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
        assert at.toasts == []


async def test_who_works_in_the_window_is_told_in_it_once_and_not_by_the_desktop(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        at.notices.is_in_front = lambda: True
        await at.tell("run r1 Completed")
        assert (at.toasts, at.desktop.shown) == (["“bert” (run 4): Completed"], [])
        assert at.window.toasts[0].topic == RUN
        at.window.dismiss(at.window.toasts[0].number)
        await at.tell("run r1 Completed")
        assert at.toasts == []
        at.preferences.choose(NOTICES["run_finished"], False)
        await at.tell("run r2 Completed")
        assert at.toasts == []
    async with bench(tmp_path) as at:
        at.notices.is_in_front = lambda: True
        await at.tell("run r1 Completed")
        assert (at.toasts, at.desktop.shown) == ([], [])


async def test_where_the_desktop_has_no_way_the_window_tells_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        said: list[tuple[str, str, Topic | None]] = []
        is_told = False

        def by_icon(*words: object) -> bool:
            said.append(words)  # type: ignore[arg-type]
            return is_told

        at.notices.otherwise = by_icon
        await at.tell()
        assert at.toasts == []
        at.desktop.shown[0].otherwise()
        assert (said, at.toasts) == ([("“bert” (run 4): Completed", "Because.", RUN)], ["“bert” (run 4): Completed"])
        at.window.dismiss(at.window.toasts[0].number)
        is_told = True
        await at.tell()
        at.desktop.shown[1].otherwise()
        assert at.toasts == []
        # A banner says it already.
        is_told = False
        at.window.hold(KEYS + "work", text("The keys were refused."))
        await at.events.flush()
        at.desktop.shown[2].otherwise()
        assert at.toasts == []


async def test_what_a_rule_found_is_told_in_front_though_its_run_is_selected(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        at.notices.is_in_front, at.notices.is_in_sight = lambda: True, lambda _: True
        await at.tell()
        at.journal.tell(NewsKind.NOTE, text("Found."), topic=RUN, notice=SystemNotice.LINE_FOUND, mark="rule")
        await at.events.flush()
        assert at.toasts == ["Found."]
        at.preferences.choose(NOTICES["line_found"], False)
        at.journal.tell(NewsKind.FAILED, text("Not stopped."), topic=RUN, notice=SystemNotice.LINE_FOUND)
        await at.events.flush()
        assert at.toasts == ["Found.", "Not stopped."]


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


def guard_of(cloud: FolderCloud, clock: Callable[[], datetime], minutes: int = 10) -> HangGuard:
    return HangGuard(
        cloud.records, cloud.connections, cloud.watch, cloud.logs, RunWaits(cloud.paths.run_waits), cloud.disk,
        lambda: timedelta(minutes=minutes), clock,
    )  # fmt: skip


def a_run(profile: str = "work") -> Run:
    return Run(
        "r1", 4, "bert", profile, JobSpec(name="bert"), RunState.RUNNING, datetime.now(UTC) - timedelta(hours=1),
        job_id="j",
    )  # fmt: skip


async def test_a_hang_is_told_once_also_over_a_restart_and_says_that_nothing_was_done(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for shown in (1, 0):
        async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
            guard = guard_of(cloud, lambda: now)
            news = HangNews(guard, at.window, at.scope)
            for _ in range(2):
                guard.suspected.tell(Hang(a_run(), now - timedelta(minutes=12), 500))
            await at.events.flush()
            assert len(at.desktop.shown) == shown
            assert len(at.window.conditions) == 1 and at.toasts == [], (
                "as long as nobody answers, it stands in the window"
            )
            if shown:
                (notice,) = at.desktop.shown
                assert "may hang: no output and no activity for 12 minutes" in notice.title
                assert "does not stop it by itself" in notice.body
                at.desktop.click(notice.key)
                assert at.clicked == [Topic(Subject.RUN, "r1", "work")]
            news.close()


async def test_a_hang_is_answered_with_stop_or_wait_in_the_window_and_on_the_desktop(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
        guard = guard_of(cloud, lambda: now)
        news = HangNews(guard, at.window, at.scope)
        stops: list[str] = []
        news.stop_wanted.connect(stops.append)
        guard.suspected.tell(Hang(a_run(), now - timedelta(minutes=12), 500))
        await at.events.flush()
        (notice,), (asked,) = at.desktop.shown, at.window.conditions
        assert notice.buttons == (("stop", "Stop…"), ("wait", "Wait"))
        assert (asked.is_error, asked.topic) == (False, Topic(Subject.RUN, "r1", "work"))
        stop, wait = asked.answers
        stop.act()
        assert stops == ["r1"] and at.window.conditions == (asked,), "it is asked before it is stopped, and may not be"
        wait.act()
        await until(lambda: at.toasts == ["“bert” (run 4): the next notice comes in 10 minutes at the earliest."])
        assert at.desktop.taken_away == [notice.key] and at.window.conditions == ()
        assert NewsKind.OVER not in [one.kind for one in at.journal.entries], "it may hang still"

        guard.suspected.tell(Hang(a_run(), now - timedelta(minutes=12), 500, waits=1))
        await at.events.flush()
        again = at.desktop.shown[1]
        at.desktop.click(again.key, "stop")
        assert stops == ["r1", "r1"] and at.clicked == []
        # Somebody stopped it.
        guard.watch.changed.tell(replace(a_run(), state=RunState.TERMINATED))
        assert at.window.conditions == ()
        guard.unused.tell(CardUnused(a_run(), "NPU", 6))
        await at.events.flush()
        at.desktop.click(at.desktop.shown[2].key, "wait")
        await until(lambda: RunWaits(cloud.paths.run_waits).of("r1", "unused") is not None)
        assert at.window.conditions == ()
        guard.suspected.tell(Hang(a_run(), now - timedelta(minutes=22), 900))
        guard.refuted.tell(Suspected("r1", Suspicion.HANGS))
        assert at.window.conditions == ()
        guard.suspected.tell(Hang(a_run(), now - timedelta(minutes=22), 900))
        guard.watch.forget("r1")  # another program stopped and deleted it
        assert at.window.conditions == ()
        news.close()


async def test_who_waits_is_asked_again_after_as_long_also_over_a_restart(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    async with FolderCloud(tmp_path / "cloud") as cloud:
        run = a_run("lab")
        await cloud.records.add(run)
        cloud.logs.file("r1").path.parent.mkdir(parents=True)
        cloud.logs.file("r1").append(b"epoch 1\n")
        samples = 0

        async def minutes(guard: HangGuard, count: int) -> None:
            nonlocal now, samples
            for _ in range(count):
                now, samples = now + timedelta(minutes=1), samples + 1
                cloud.jobs.used["worker-0"] = ResourceUse({CPU: (0.0,) * samples})
                await guard._look_at_all(timedelta(minutes=10))

        def begin() -> tuple[HangGuard, list[Hang], list[Suspected]]:
            guard, told, refuted = guard_of(cloud, lambda: now), list[Hang](), list[Suspected]()
            guard.suspected.add(told.append)
            guard.refuted.add(refuted.append)
            return guard, told, refuted

        guard, told, _ = begin()
        await minutes(guard, 15)
        assert [hang.waits for hang in told] == [0]
        assert await guard.postpone(Suspected("r1", Suspicion.HANGS)) == timedelta(minutes=10)
        await minutes(guard, 5)
        guard, later, refuted = begin()  # another program, which has to see for itself that nothing happens
        await minutes(guard, 4)
        assert (len(told), later) == (1, [])
        await minutes(guard, 6)
        assert [hang.waits for hang in later] == [1]
        await minutes(guard, 20)
        assert len(later) == 1
        cloud.logs.file("r1").append(b"epoch 2\n")
        await minutes(guard, 1)
        assert refuted == [Suspected("r1", Suspicion.HANGS)]


async def test_a_hang_that_is_at_something_again_is_none_and_an_answer_that_cannot_be_kept_is_no_answer(
    tmp_path: Path,
) -> None:
    now, used = datetime.now(UTC), [0.0]
    async with FolderCloud(tmp_path / "cloud") as cloud:
        await cloud.records.add(a_run("lab"))
        cloud.logs.file("r1").path.parent.mkdir(parents=True)
        cloud.logs.file("r1").append(b"epoch 1\n")
        guard, told, refuted = guard_of(cloud, lambda: now), list[Hang](), list[Suspected]()
        guard.suspected.add(told.append)
        guard.refuted.add(refuted.append)

        async def minutes(count: int, use: float = 0.0) -> None:
            nonlocal now
            for _ in range(count):
                now = now + timedelta(minutes=1)
                used.append(use)
                cloud.jobs.used["worker-0"] = ResourceUse({CPU: tuple(used)})
                await guard._look_at_all(timedelta(minutes=10))

        await minutes(15)
        assert len(told) == 1
        await minutes(1, 60.0)
        assert refuted == [Suspected("r1", Suspicion.HANGS)], "it says nothing, and works"
        await minutes(15)
        assert len(told) == 2 and told[0].held_bytes == told[1].held_bytes, "it is asked again, and is no news"
        place = cloud.paths.run_waits("r1")
        place.mkdir()
        with pytest.raises(LocalTrouble):
            await guard.postpone(Suspected("r1", Suspicion.HANGS))
        await minutes(1)
        assert len(told) == 3
        guard.wait = lambda: None
        cloud.scope.start("guard", guard.run)
        await until(lambda: refuted == [Suspected("r1", Suspicion.HANGS)] * 2)  # nobody wants to be asked any more


async def test_a_card_that_is_left_idle_is_told_of_by_what_the_service_measured(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
        now = datetime.now(UTC)
        guard = guard_of(cloud, lambda: now)
        news = HangNews(guard, at.window, at.scope)
        await cloud.records.add(a_run("lab"))
        card: tuple[float, ...] = ()

        async def minutes(count: int, use: float = 0.0) -> None:
            nonlocal now, card
            for _ in range(count):
                now = now + timedelta(minutes=1)
                cloud.jobs.used["worker-0"] = ResourceUse({CPU: (80.0,) * len(card), NPU: card})
                await guard._look_at_all(timedelta(days=1))
                card = (*card, use)
            await at.events.flush()

        await minutes(20)
        (notice,) = at.desktop.shown
        assert "has not used its NPU for 6 minutes" in notice.title and "training on the CPU" in notice.body
        at.desktop.click(notice.key, "wait")
        await until(lambda: RunWaits(cloud.paths.run_waits).of("r1", "unused") is not None)
        await minutes(9)
        assert len(at.desktop.shown) == 1
        await minutes(3)
        assert "has not used its NPU for 29 minutes" in at.desktop.shown[1].title
        await minutes(2, 40.0)
        assert at.window.conditions == (), "it uses it now"
        news.close()


async def test_rules_that_cannot_be_used_lead_to_their_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, FolderCloud(tmp_path / "cloud") as cloud:
        rules = cloud.rules()
        news = RuleNews(rules, at.journal, at.scope)
        rules.refused.tell(InvalidInput(text("The rules cannot be used."), text("Correct the file.")))
        (toast,) = at.window.toasts
        assert toast.topic == Topic(Subject.FILE, str(rules.file.path))
        news.close()

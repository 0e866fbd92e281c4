"""What the journal tells is kept, found again at the next start, and told as new once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from support.waiting import fail_with, until
from traindeck.domain.errors import KeysRefused, LocalTrouble
from traindeck.domain.events import KeptEvent
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.notices.run_notices import event_of, state_notice
from traindeck.domain.readings.evidence import NumberedLine
from traindeck.domain.readings.failure_rules import RuleText
from traindeck.domain.readings.failures import Failure
from traindeck.domain.texts import say, text
from traindeck.domain.transfers.orders import Kind
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners, TaskScope
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.transfers import Transfer, TransferState
from traindeck.store.events import EventStore
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore
from traindeck.viewmodels.jobs.runs.run_news import RunNews
from traindeck.viewmodels.shell.events import EventGroup, Events, copied, is_in, topic_of
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic
from traindeck.viewmodels.shell.notices import KEYS, Notices
from traindeck.viewmodels.transfers.transfer_news import TransferNews


class Start:
    """One start of the program."""

    def __init__(self, path: Path, writer: BlockingCalls, scope: TaskScope, most: int) -> None:
        self.store = EventStore(path, writer)
        self.notices = Notices()
        self.journal: Journal = self.notices.journal
        self.events = Events(self.store, self.journal, scope, lambda: most)
        self.fresh: list[KeptEvent] = []
        self.events.added.connect(self.fresh.extend)
        self.runs: Listeners[Run] = Listeners()
        self.transfers: Listeners[Transfer] = Listeners()
        watch = cast("RunWatch", SimpleNamespace(changed=self.runs))
        self.run_news = RunNews(watch, self.journal, self.explain, scope)
        self.news = (self.run_news, TransferNews(self.transfers, self.journal))
        self.failure: Failure | None = None
        self.trouble: Exception | None = None
        self.is_read = asyncio.Event()
        self.is_read.set()

    async def explain(self, _: Run) -> tuple[Failure | None, str]:
        """As the reading of a log answers that the test turns."""
        await self.is_read.wait()
        if self.trouble is not None:
            raise self.trouble
        return self.failure, "worker-0"

    async def hints(self) -> list[str]:
        await until(lambda: bool(self.journal.entries))
        await self.events.flush()
        return [say(event.hint) for event in self.fresh]

    async def told(self) -> list[tuple[str, str]]:
        """The titles of what was new, each with the notice it is worth."""
        await self.events.flush()
        return [(say(event.title), event.notice) for event in self.fresh]


@asynccontextmanager
async def start(home: Path, most: int = 100) -> AsyncIterator[Start]:
    with closing(BlockingCalls(1, "events")) as writer:
        async with TaskScope(fail_with) as scope:
            made = Start(home / "events.db", writer, scope, most)
            with closing(made.store):
                yield made
                await made.events.flush()
                for news in made.news:
                    news.close()


def a_run(state: RunState, reason: str = "") -> Run:
    return Run("r1", 41, "bert", "work", JobSpec(), state, datetime.now(UTC), reason=reason)


async def test_each_state_of_a_run_is_told_once_also_over_a_restart(tmp_path: Path) -> None:
    async with start(tmp_path) as first:
        for state in (RunState.SUBMITTING, RunState.RUNNING, RunState.RUNNING):
            first.runs.tell(a_run(state))
        assert await first.told() == [("“bert” (run 41): Submitting", ""), ("“bert” (run 41): Running", "")]
    async with start(tmp_path) as second:
        for _ in range(2):
            second.runs.tell(a_run(RunState.RUNNING))
            second.runs.tell(a_run(RunState.FAILED, "no space"))
        await until(lambda: len(second.journal.entries) == 3)
        assert await second.told() == [("“bert” (run 41): Failed", "run_failed")]
        (event,) = second.fresh
        assert (say(event.hint), topic_of(event)) == ("no space", Topic(Subject.RUN, "r1", "work"))
    async with start(tmp_path) as third:
        third.runs.tell(a_run(RunState.FAILED, "no space"))
        await until(lambda: len(third.journal.entries) == 1)
        assert await third.told() == []
        third.events.load()
        await until(lambda: third.events.is_loaded)
        assert len(third.events.rows) == 3


GPU_MEMORY = RuleText("The GPU ran out of memory.", "GPU 显存不足。")
KNOWN = Failure("gpu-memory", GPU_MEMORY, GPU_MEMORY, GPU_MEMORY)
UNTOLD = Failure("", RuleText("It failed.", ""), RuleText("", ""), RuleText("", ""), proof_words="Exit code 1")
ODD = replace(UNTOLD, proof=NumberedLine(1, 0, "Odd: 7"), proof_words="Odd: 7")


@pytest.mark.parametrize(
    ("state", "failure", "trouble", "hint"),
    [
        (RunState.FAILED, KNOWN, None, "The GPU ran out of memory."),
        (RunState.ABNORMAL, ODD, None, "Exit code 1"),
        (RunState.FAILED, UNTOLD, None, "Exit code 1"),
        (RunState.FAILED, None, None, "Exit code 1"),
        (RunState.FAILED, KNOWN, LocalTrouble(text("The disk is gone."), text("Look.")), "Exit code 1"),
        (RunState.COMPLETED, KNOWN, None, "Exit code 1"),
    ],
)
async def test_the_end_of_a_run_is_told_with_its_cause(
    tmp_path: Path, state: RunState, failure: Failure | None, trouble: Exception | None, hint: str
) -> None:
    async with start(tmp_path) as at:
        at.failure, at.trouble = failure, trouble
        for _ in range(2):
            at.runs.tell(a_run(state, "Exit code 1"))
        assert await at.hints() == [hint]


async def test_a_failure_waits_for_its_cause_and_never_for_long(tmp_path: Path) -> None:
    """Nor is it lost where the program ends meanwhile."""
    async with start(tmp_path) as at:
        at.is_read.clear()
        at.failure = KNOWN
        at.runs.tell(a_run(RunState.FAILED))
        await asyncio.sleep(0)
        at.runs.tell(a_run(RunState.FAILED, "Exit code 1"))  # which the service said later
        assert not at.journal.entries
        at.run_news.flush()
        at.is_read.set()
        assert await at.hints() == ["Exit code 1"]
        at.run_news.flush()
        assert len(at.journal.entries) == 1
    async with TaskScope(fail_with) as scope:
        runs, journal = Listeners[Run](), Journal()
        watch = cast("RunWatch", SimpleNamespace(changed=runs))
        news = RunNews(watch, journal, lambda _: asyncio.Future(), scope, patience_s=0.01)
        runs.tell(a_run(RunState.FAILED, "Exit code 1"))
        await until(lambda: [say(one.hint) for one in journal.entries] == ["Exit code 1"])
        news.close()


async def test_the_end_of_a_run_that_no_window_saw_is_told_once_at_the_next_start(tmp_path: Path) -> None:
    """It ended while the window was closed, or the program was killed while it waited for the cause of a failure."""
    now, days_ago = datetime.now(UTC), datetime.now(UTC) - timedelta(days=10)
    untold = replace(a_run(RunState.FAILED, "Exit code 1"), ended=now)
    elsewhere = replace(untold, id="r2", name="bert-2")  # which a command followed to its end
    listed = replace(a_run(RunState.COMPLETED), id="r3", name="bert-3", ended=now)  # which “job ls” saw first
    old = replace(listed, id="r4", name="bert-4", created=days_ago, ended=days_ago)
    on_friday = replace(listed, id="r5", name="bert-5", ended=now - timedelta(days=3))
    not_sent = replace(untold, id="r6", name="bert-6", state=RunState.NOT_SENT)  # the command said so
    with closing(BlockingCalls(1, "records")) as calls:
        records = RunStore(RecordsFile(tmp_path / "records.db", tmp_path / "runs"), calls)
        with closing(records):
            await records.open()
            for run in (untold, elsewhere, listed, old, on_friday, not_sent):
                await records.add(run)
            async with start(tmp_path) as killed:
                killed.runs.tell(a_run(RunState.RUNNING))
                killed.runs.tell(replace(on_friday, state=RunState.RUNNING))
                await killed.told()
                await killed.store.add([event_of(state_notice(elsewhere), now)], 100)
            first = ["“bert-3” (run 3): Completed", "“bert-5” (run 5): Completed", "“bert” (run 1): Failed"]
            for titles in (first, []):
                async with start(tmp_path) as at:
                    await at.run_news.catch_up(records, at.store)
                    at.run_news.flush()
                    assert [title for title, _ in await at.told()] == titles


async def test_what_is_being_written_is_waited_for_as_well(tmp_path: Path) -> None:
    async with start(tmp_path) as at:
        at.runs.tell(a_run(RunState.RUNNING))
        for _ in range(3):
            await asyncio.sleep(0)  # its writing has begun: nothing waits for that any more
        assert await at.told() == [("“bert” (run 41): Running", "")]


async def test_transfers_are_told_of_when_they_end_here(tmp_path: Path) -> None:
    def transfer(number: int, state: TransferState) -> Transfer:
        return Transfer(number, Kind.UPLOAD, f"/data/{number}", "obs://b/", state)

    async with start(tmp_path) as at:
        over_before = transfer(1, TransferState.DONE)
        at.transfers.tell(over_before)
        for number, end in ((2, TransferState.DONE), (3, TransferState.PARTLY), (4, TransferState.CANCELLED)):
            at.transfers.tell(transfer(number, TransferState.RUNNING))
            at.transfers.tell(transfer(number, end))
            at.transfers.tell(transfer(number, end))
        for end in (TransferState.CANCELLED, TransferState.FAILED):  # plans only
            at.transfers.tell(transfer(5, TransferState.READY))
            at.transfers.tell(transfer(5, end))
        assert await at.told() == [
            ("Transfer finished: /data/2 → obs://b/", "transfer_done"),
            ("Transfer finished, but not all files were transferred: /data/3 → obs://b/", "transfer_failed"),
            ("Transfer canceled: /data/4 → obs://b/", ""),
            ("Transfer failed: /data/5 → obs://b/", ""),
        ]


async def test_keys_that_stay_refused_are_one_piece_of_news(tmp_path: Path) -> None:
    refused = KeysRefused(text("The secret key does not match."), text("Paste both again."))
    for expected in (["keys_refused"], [], ["", "keys_refused"]):
        async with start(tmp_path) as at:
            if len(expected) == 2:
                at.notices.hold(KEYS + "work", refused.title)
                at.notices.clear(KEYS + "work")
            at.notices.hold(KEYS + "work", refused.title)
            assert [notice for _, notice in await at.told()] == expected


async def test_only_so_many_are_shown_and_a_disk_that_fails_stops_nobody(tmp_path: Path) -> None:
    async with start(tmp_path, most=10) as at:
        for number in range(25):
            at.journal.done(text("event {number}", number=number))
        await at.events.flush()
        assert [say(event.title) for event in at.events.rows] == [f"event {number}" for number in range(15, 25)]
    (tmp_path / "broken" / "events.db").mkdir(parents=True)
    async with start(tmp_path / "broken") as at:
        at.journal.done(text("event {number}", number=1))
        assert await at.told() == [("event 1", "")]


async def test_groups_words_and_copies(tmp_path: Path) -> None:
    async with start(tmp_path) as at:
        at.journal.tell(
            NewsKind.FAILED, text("Not moved"), text("Look\nfor it."), topic=Topic(Subject.PLACE, "obs://b/x")
        )
        at.journal.tell(NewsKind.NOTE, text("Dark"))
        await at.events.flush()
        failed, note = at.fresh
        groups = {group for group in EventGroup if is_in(failed, group)}
        assert groups == {EventGroup.ALL, EventGroup.TROUBLES, EventGroup.PLACES}
        assert {group for group in EventGroup if is_in(note, group)} == {EventGroup.ALL, EventGroup.OTHER}
        assert copied(failed).partition("\t")[2] == "Not moved\tLook for it."
        assert "failed Not moved Look for it." in await at.events.as_text()

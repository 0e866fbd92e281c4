"""Following the live runs: one poller per account, as often as it is worth."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    KeysRefused,
    LocalTrouble,
    NoRight,
    NotFound,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.jobs.job import LAB_ENDED, LiveJobs, RemoteJob, Run, RunState
from traindeck.runtime.clock import Clock, delays, utc_now
from traindeck.runtime.tasks import Listeners, TaskScope, gather_or_raise, set_within
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.run_changes import changes, is_news
from traindeck.services.jobs.run_log_source import RunLogSource
from traindeck.services.logs.log_source import Ending
from traindeck.services.logs.run_logs import RunLogs

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_LAB_PACE_S = (0.3, 1.0)
_CLOUD_PACE_S = (3.0, 30.0)
_HIDDEN_S = 10.0
_LIST_EVERY_S = 2.0
LINGER_S = 60.0
_LINGER = timedelta(seconds=LINGER_S)
_GIVE_UP = timedelta(minutes=10)
_UNFINISHED = timedelta(days=1)
_RETRIES_S = (1.0, 60.0)
_SETTLE_S = (20.0, 300.0)

_WITHOUT_A_REASON = (RunState.ABNORMAL, RunState.FAILED)


@dataclass(slots=True)
class WatchedAccount:
    """What is known about the way to one profile."""

    last_answer: datetime | None = None
    trouble: AppError | None = None
    tries: int = 0
    """That failed, one after the other."""
    next_look: datetime | None = None
    lingering: dict[str, datetime] = field(default_factory=dict)
    """Until when the log of a run that is over may still grow."""
    jobs: LiveJobs | None = None
    """All of it that are not over, as of the last answer; None: nobody asked, or it cannot be asked for all."""
    retries: Iterator[float] | None = None


@dataclass(frozen=True, slots=True)
class JobsSeen:
    """What a look at an account found; a search of a moment ago may lack the newest job."""

    profile: str
    jobs: LiveJobs


@dataclass(eq=False, slots=True)
class RunWatch:
    """Keeps the records true to the service while `run()` runs."""

    records: RunStore
    connections: Connections
    logs: RunLogs
    clock: Clock = utc_now
    chance: random.Random = field(default_factory=random.Random)
    settle: Callable[[], Awaitable[object]] | None = None
    """Asked from time to time what became of submissions that are still open."""
    hidden: bool = False
    changed: Listeners[Run] = field(default_factory=Listeners)
    gone: Listeners[str] = field(default_factory=Listeners)
    connection_state: Listeners[str] = field(default_factory=Listeners)
    """The name of a profile whose last answer or trouble changed."""
    jobs_seen: Listeners[JobsSeen] = field(default_factory=Listeners)
    """All live jobs of an account at each look, ours or not: one that was given up may be among them."""
    take_back: Callable[[JobsSeen], Awaitable[object]] | None = None
    """Takes in the jobs of this computer whose records were lost."""
    measure: Callable[[Run], Awaitable[object]] | None = None
    """Reads the numbers of a run's log once there is no more of it to come."""
    look_at_data: Callable[[Run], Awaitable[object]] | None = None
    """Keeps what the inputs of a run hold, once for each."""
    records_told: Listeners[None] = field(default_factory=Listeners)
    """Whether the records can be written, or what became of them, is another thing than before."""
    log_trouble: AppError | None = None
    """Why logs are not kept now; the service has them."""
    planes: Planes | None = None
    """The way to the files of logs in their folders, where the service gives no link."""
    accounts: dict[str, WatchedAccount] = field(default_factory=lambda: defaultdict(WatchedAccount))
    _known: dict[str, Run] = field(default_factory=dict)
    _records_trouble: AppError | None = None
    _records_told: tuple[object, object] = (None, None)
    _looked_at: Counter[str] = field(default_factory=Counter)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def trouble(self, profile: str) -> AppError | None:
        return self.connections.refusal(profile) or self.accounts[profile].trouble

    def wake(self) -> None:
        """Look now instead of when it is due; not before the moment a service asked for."""
        self._woken.set()

    @contextmanager
    def looking_at(self, profile: str) -> Iterator[None]:
        """Somebody looks at what this account runs: it is asked even when nothing of ours is live there."""
        self._looked_at[profile] += 1
        self.wake()
        try:
            yield
        finally:
            self._looked_at[profile] -= 1

    def tell(self, run: Run) -> None:
        """Somebody else changed a run: pass it on, and look after it from now on."""
        self._known[run.id] = run
        self.changed.tell(run)
        self.wake()

    def forget(self, run_id: str) -> None:
        self._known.pop(run_id, None)
        self.gone.tell(run_id)

    async def finish_log(self, run: Run) -> None:
        """Fetch what is missing of the log of a run that is over, as soon as its account answers."""
        if run.state.is_over and run.job_id and not await self.logs.are_whole(run):
            self._known.setdefault(run.id, run)
            lag = _LINGER if run.profile != LAB else timedelta()
            self.accounts[run.profile].lingering.setdefault(run.id, (run.ended or run.created) + lag)
            self.wake()

    async def until_over(self, run_id: str) -> Run:
        ended: asyncio.Future[Run] = asyncio.get_running_loop().create_future()

        def look(run: Run) -> None:
            if run.id == run_id and run.state.is_over and not ended.done():
                ended.set_result(run)

        with self.changed.heard_by(look):
            look(await self.records.existing(run_id))
            return await ended

    async def run(self) -> None:
        """Watch until cancelled. Also sees what other programs do to the same records."""
        async with TaskScope(lambda name, error: log.error("%s: %s", name, error)) as scope:
            retries = delays(*_RETRIES_S, self.chance)
            scope.start("finish logs", self._finish_logs)
            while True:
                self._woken.clear()
                try:
                    live = await self._refreshed()
                except AppError as error:
                    self._tell_records_trouble(error)
                    await asyncio.sleep(next(retries))
                    continue
                retries = delays(*_RETRIES_S, self.chance)
                self._tell_records_trouble(None)
                await self._look_after_records()
                lingering = {name for name, account in self.accounts.items() if account.lingering}
                watched = {run.profile for run in live if _is_watched(run)} | {*+self._looked_at} | lingering
                for profile in watched:
                    scope.start(f"watch {profile}", partial(self._watch, profile))
                if self.look_at_data is not None:
                    for run in live:
                        if _is_watched(run):
                            scope.start(f"look at the data of {run.id}", partial(self.look_at_data, run))
                if await self._may_settle(live):
                    scope.start("settle", self._keep_settling)
                await set_within(self._woken, _LIST_EVERY_S)

    async def _finish_logs(self) -> None:
        """Those of runs that ended when the program did; of the Lab's there was nothing to wait for."""
        for run in await self.records.since(self.clock() - _UNFINISHED):
            if run.profile != LAB:
                await self.finish_log(run)

    async def _look_after_records(self) -> None:
        """What waits for room on the disk is written as soon as there is some; each day has its copy."""
        before = self._records_told
        if self.records.trouble is not None:
            await self.records.write_what_was_not()
        await self.records.make_copy(self.clock().astimezone().date())
        self._records_told = (self.records.trouble, self.records.recovered)
        if self._records_told != before:
            self.records_told.tell(None)

    async def _keep_settling(self) -> None:
        """Submissions whose answer was lost are looked for as long as there are any."""
        for pause in delays(*_SETTLE_S, self.chance):
            await asyncio.sleep(pause)
            try:
                if self.settle is None or not await self._may_settle(await self.records.live()):
                    return
                await self.settle()
            except AppError as error:
                log.warning("open submissions: %s %s", error, error.detail)

    async def _may_settle(self, live: Sequence[Run]) -> bool:
        """Whether a submission is open, or a job that was given up may still arrive."""
        return any(run.state.is_open for run in live) or bool(await self.records.late(self.clock()))

    async def _refreshed(self) -> list[Run]:
        live = await self.records.live()
        for run in live:
            self._notice(run)
        alive = {run.id for run in live}
        for run_id, known in list(self._known.items()):
            if run_id in alive or known.state.is_over:
                continue
            now = await self.records.get(run_id)
            if now is None:
                self.forget(run_id)
            else:
                self._notice(now)
        return live

    def _tell_records_trouble(self, trouble: AppError | None) -> None:
        """While the records cannot be read nothing is known of any profile; None: they can be again."""
        before, self._records_trouble = self._records_trouble, trouble
        if trouble is not None:
            log.warning("reading the records: %s %s", trouble, trouble.detail)
        elif before is None:
            return
        for profile in {*self.accounts, *(run.profile for run in self._known.values())}:
            account = self.accounts[profile]
            if trouble is not None or account.trouble is before:
                account.trouble = trouble
                self.connection_state.tell(profile)

    def _notice(self, run: Run) -> None:
        if self._known.get(run.id) != run:
            self._known[run.id] = run
            self.changed.tell(run)

    async def _watch(self, profile: str) -> None:
        account = self.accounts[profile]
        quickest, slowest = _LAB_PACE_S if profile == LAB else _CLOUD_PACE_S
        interval = quickest
        while True:
            asked_for = 0.0
            try:
                runs = [run for run in await self.records.live() if run.profile == profile and _is_watched(run)]
                if not runs and not account.lingering and not self._looked_at[profile]:
                    account.jobs = None  # nobody asks any more, so nobody knows
                    return
                news = await self._look(profile, account, runs)
            except KeysRefused as error:
                await self._without_keys(profile, account, error)
                continue
            except AppError as error:
                asked_for = _retry_after_s(error)
                wait = max(self._after(error, account), asked_for)
            else:
                account.trouble, account.retries, account.tries = None, None, 0
                interval = quickest if news else min(slowest, interval * 1.5)
                wait = max(interval, _HIDDEN_S) if self.hidden and profile != LAB else interval
                wait *= self.chance.uniform(0.9, 1.1)
            account.next_look = self.clock() + timedelta(seconds=wait)
            self.connection_state.tell(profile)
            await asyncio.sleep(asked_for)
            await set_within(self._woken, wait - asked_for)

    async def _without_keys(self, profile: str, account: WatchedAccount, error: KeysRefused) -> None:
        """Ask nothing until there are others; then go on at once."""
        log.warning("watching: %s %s", error, error.detail)
        # Where they are held, `Connections` says so, for as long as it is true.
        account.trouble = None if self.connections.refusal(profile) else error
        account.next_look = None
        self.connection_state.tell(profile)
        await self.connections.until_usable(profile)

    def _after(self, error: AppError, account: WatchedAccount) -> float:
        """How long to leave the service alone after it failed us."""
        log.warning("watching: %s %s", error, error.detail)
        account.trouble = error
        account.tries += 1
        if account.retries is None:
            account.retries = delays(*_RETRIES_S, self.chance)
        return next(account.retries)

    async def _look(self, profile: str, account: WatchedAccount, runs: list[Run]) -> bool:
        connection = await self.connections.open(profile)
        jobs, first_trouble = await self._live_jobs(connection, profile, account)
        live = {job.id: job for job in jobs}
        news = False
        for run in runs:
            try:
                # What is not among the live ones has ended, or was deleted, or has a phase of a newer service.
                job = live.get(run.job_id) or await connection.training.show(run.job_id)
                account.last_answer = self.clock()
                has_news, log_error = await self._look_at(connection, account, run, job)
                news, first_trouble = news | has_news, first_trouble or log_error
            except AppError as error:
                if _concerns_all(error):
                    raise
                # One run that cannot be asked about does not hide the others.
                first_trouble = first_trouble or error
        for run_id, until in list(account.lingering.items()):
            known = self._known.get(run_id)
            if known is None:
                del account.lingering[run_id]
                continue
            try:
                news |= await self._linger(connection, account, known, until)
            except AppError as error:
                if _concerns_all(error):
                    raise
                first_trouble = first_trouble or error
        if first_trouble is not None:
            raise first_trouble
        return news

    async def _live_jobs(
        self, connection: Connection, profile: str, account: WatchedAccount
    ) -> tuple[Sequence[RemoteJob], AppError | None]:
        """One question for all; where that has no answer, each run is asked about by itself."""
        try:
            found = await connection.training.live_jobs()
        except AppError as error:
            if _concerns_all(error):
                raise
            log.warning("%s cannot be asked for its live jobs: %s %s", profile, error, error.detail)
            account.jobs = None
            return (), error if isinstance(error, ServiceTrouble) else None
        account.jobs, account.last_answer = found, self.clock()
        seen = JobsSeen(profile, found)
        try:
            if self.take_back is not None:
                await self.take_back(seen)
        finally:
            self.jobs_seen.tell(seen)  # after it: a late job is ours by now
        return found.jobs, None

    async def _look_at(
        self, connection: Connection, account: WatchedAccount, run: Run, job: RemoteJob | None
    ) -> tuple[bool, AppError | None]:
        """Whether there is news, and what kept its log away."""
        after = changes(run, job, self.clock(), is_lab=connection.profile.is_lab)
        is_over = job is None or job.state.is_over
        # The log is fetched after the state was asked for: when that says over, the Lab's log is whole. The cloud's
        # last upload of a log lags behind the end by up to a minute.
        end = Ending.OVER if is_over and connection.profile.is_lab else Ending.LIVE
        grown, log_error = await self._fetch_logs(connection, run, end)
        if is_over and not await self.logs.are_whole(run):
            account.lingering[run.id] = self.clock() + (timedelta() if connection.profile.is_lab else _LINGER)
        if job is not None and job.state in _WITHOUT_A_REASON and not job.exit_message and after["reason"] != LAB_ENDED:
            after["reason"] = await self._reason(connection, run) or after["reason"]
        changed = is_news(run, after)
        if changed:
            if job is not None and job.state.is_over:
                await self._measure(run)  # before it is over for those who wait for that
            await self._become(run, **after)
        return grown or changed, log_error

    async def _reason(self, connection: Connection, run: Run) -> str:
        """From the events of the job; that they cannot be had takes nothing away."""
        try:
            return await connection.training.last_error(run.job_id)
        except AppError as error:
            if _concerns_all(error):
                raise
            log.warning("the events of %s: %s %s", run.name, error, error.detail)
            return ""

    async def _linger(self, connection: Connection, account: WatchedAccount, run: Run, until: datetime) -> bool:
        """One more look at the log of a run that is over, until it is whole."""
        late = self.clock() - until
        end = Ending.OVER if connection.profile.is_lab else Ending.LIVE
        if late >= timedelta():
            end = Ending.LAST if late < _GIVE_UP else Ending.WITH_WHAT_THERE_IS
        grown, error = await self._fetch_logs(connection, run, end)
        if error is not None:
            raise error
        if self.log_trouble is None and await self.logs.are_whole(run):
            del account.lingering[run.id]
            await self._measure(run)
        return grown

    async def _fetch_logs(self, connection: Connection, run: Run, end: Ending) -> tuple[bool, AppError | None]:
        """Whether there is more of any of them, and what kept the service from giving one; the others are fetched."""
        found = await gather_or_raise(self._fetch_log(connection, run, task, end) for task in run.tasks)
        errors = [error for _, error in found if error is not None]
        trouble = next((error for error in errors if isinstance(error, LocalTrouble)), None)
        if (trouble is None) != (self.log_trouble is None):
            self.log_trouble = trouble
            self.connection_state.tell(run.profile)
        remote = next((error for error in errors if not isinstance(error, LocalTrouble)), None)
        if remote is not None and _concerns_all(remote) and not isinstance(remote, NoRight):
            raise remote
        return any(grown for grown, _ in found), remote

    async def _fetch_log(
        self, connection: Connection, run: Run, task: str, end: Ending
    ) -> tuple[bool, AppError | None]:
        source = RunLogSource(connection.training, self.planes, run, task)
        try:
            return await self.logs.look(run.id, task, source, end), None
        except AppError as error:
            # What state the job is in counts more; the log stays where it is.
            log.warning("the log of %s: %s %s", run.name, error, error.detail)
            return False, error

    async def _measure(self, run: Run) -> None:
        if self.measure is None:
            return
        try:
            await self.measure(run)
        except (LocalTrouble, NotFound) as error:
            log.warning("reading the numbers of %s: %s %s", run.name, error, error.detail)

    async def _become(self, run: Run, **after: object) -> None:
        try:
            self._notice(await self.records.change(run.id, **after))
        except NotFound:
            self.forget(run.id)  # another program removed it while we asked


def _is_watched(run: Run) -> bool:
    """A damaged record may not say which job it is."""
    return run.state.is_remote and bool(run.job_id)


def _retry_after_s(error: AppError) -> float:
    return (error.retry_after_s or 0.0) if isinstance(error, ServiceTrouble) else 0.0


def _concerns_all(error: AppError) -> bool:
    """What keeps the account as a whole from answering; asking about its other runs would be told the same."""
    return isinstance(error, Unreachable | AccessRefused) or _retry_after_s(error) > 0

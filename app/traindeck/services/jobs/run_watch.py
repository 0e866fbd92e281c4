"""Following the live runs: one poller per profile, as often as it is worth."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    KeysRefused,
    NotFound,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.jobs.job import LAB_ENDED, RemoteJob, Run, RunState
from traindeck.domain.texts import text
from traindeck.runtime.clock import Clock, delays, utc_now
from traindeck.runtime.tasks import Listeners, TaskScope, set_within
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.logs.run_logs import RunLogs

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_LAB_PACE_S = (0.3, 1.0)
_CLOUD_PACE_S = (3.0, 30.0)
_HIDDEN_S = 10.0
_LIST_EVERY_S = 2.0
_LINGER = timedelta(seconds=60)
_RETRIES_S = (1.0, 60.0)
_SETTLE_S = (20.0, 300.0)
_BROKEN_OFF = text("The service ended this job without a reason. See the end of its log.")


@dataclass(slots=True)
class WatchedAccount:
    """What is known about the way to one profile."""

    last_answer: datetime | None = None
    trouble: AppError | None = None
    tries: int = 0
    """That failed, one after the other."""
    next_look: datetime | None = None
    lingering: dict[str, datetime] = field(default_factory=dict)
    retries: Iterator[float] | None = None


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
    accounts: dict[str, WatchedAccount] = field(default_factory=lambda: defaultdict(WatchedAccount))
    _known: dict[str, Run] = field(default_factory=dict)
    _records_trouble: AppError | None = None
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def trouble(self, profile: str) -> AppError | None:
        return self.connections.refusal(profile) or self.accounts[profile].trouble

    def wake(self) -> None:
        """Look now instead of when it is due; not before the moment a service asked for."""
        self._woken.set()

    def tell(self, run: Run) -> None:
        """Somebody else changed a run: pass it on, and look after it from now on."""
        self._known[run.id] = run
        self.changed.tell(run)
        self.wake()

    def forget(self, run_id: str) -> None:
        self._known.pop(run_id, None)
        self.gone.tell(run_id)

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
                for run in live:
                    if _is_watched(run):
                        scope.start(f"watch {run.profile}", partial(self._watch, run.profile))
                    elif run.state.is_open:
                        scope.start("settle", self._keep_settling)
                await set_within(self._woken, _LIST_EVERY_S)

    async def _keep_settling(self) -> None:
        """Submissions whose answer was lost are looked for as long as there are any."""
        for pause in delays(*_SETTLE_S, self.chance):
            await asyncio.sleep(pause)
            try:
                if self.settle is None or not any(run.state.is_open for run in await self.records.live()):
                    return
                await self.settle()
            except AppError as error:
                log.warning("open submissions: %s %s", error, error.detail)

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
                now = self.clock()
                account.lingering = {run_id: until for run_id, until in account.lingering.items() if until > now}
                if not runs and not account.lingering:
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
        news = False
        first_trouble: AppError | None = None
        for run in runs:
            try:
                news |= await self._look_at(connection, account, run)
            except AppError as error:
                if _concerns_all(error):
                    raise
                # One run that cannot be asked about does not hide the others.
                first_trouble = first_trouble or error
        for run_id in account.lingering:
            known = self._known.get(run_id)
            if known is not None:
                news |= await self._fetch_logs(connection, known, is_last=True)
        if first_trouble is not None:
            raise first_trouble
        return news

    async def _look_at(self, connection: Connection, account: WatchedAccount, run: Run) -> bool:
        job = await connection.training.show(run.job_id)
        account.last_answer = self.clock()
        if job is None:
            reason = text("The service no longer has this job. Its record on this computer is kept.")
            await self._become(run, state=RunState.ABNORMAL, reason=reason, ended=self.clock())
            return True
        # The log is fetched after the state was asked for: when that says over, the log is whole.
        grown = await self._fetch_logs(connection, run, is_last=job.state.is_over)
        after = self._changes(run, job, is_lab=connection.profile.is_lab)
        # The cloud's last upload of a log lags behind the end by up to a minute; the Lab's does not.
        if job.state.is_over and not connection.profile.is_lab:
            account.lingering[run.id] = self.clock() + _LINGER
        changed = any(getattr(run, name) != value for name, value in after.items() if name != "checked")
        if changed:
            await self._become(run, **after)
        return grown or changed

    def _changes(self, run: Run, job: RemoteJob, *, is_lab: bool) -> dict[str, object]:
        ended = run.ended
        if job.state.is_over and ended is None:
            ended = self.clock()
            if job.started is not None and job.duration_ms is not None:
                ended = job.started + timedelta(milliseconds=job.duration_ms)
        broken_off = _BROKEN_OFF if job.state is RunState.ABNORMAL else ""
        return {
            "state": job.state,
            "phase": job.phase,
            "reason": LAB_ENDED if is_lab and job.is_lost else job.exit_message or broken_off,
            "started": job.started or run.started,
            "ended": ended,
            "duration_ms": job.duration_ms if job.state.is_over else run.duration_ms,
            "tasks": job.tasks or run.tasks,
            "isolation": job.isolation or run.isolation,
            "checked": self.clock(),
        }

    async def _fetch_logs(self, connection: Connection, run: Run, *, is_last: bool) -> bool:
        grown = False
        for task in run.tasks:
            chunk = await connection.training.log_tail(run.job_id, task)
            if chunk is not None:
                part = partial(connection.training.log_part, run.job_id, task)
                grown |= bool(await self.logs.take(run.id, task, chunk, part, is_last=is_last))
        return grown

    async def _become(self, run: Run, **changes: object) -> None:
        try:
            self._notice(await self.records.change(run.id, **changes))
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

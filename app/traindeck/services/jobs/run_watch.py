"""Following the live runs: one poller per profile, as often as it is worth."""

from __future__ import annotations

import asyncio
import logging
import random
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
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.texts import Text, text
from traindeck.runtime.clock import Clock, delays, utc_now
from traindeck.runtime.tasks import Listeners, TaskScope
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


@dataclass(slots=True)
class _Account:
    """What is known about the way to one profile."""

    last_answer: datetime | None = None
    trouble: AppError | None = None
    next_look: datetime | None = None
    lingering: dict[str, datetime] = field(default_factory=dict)
    retries: Iterator[float] | None = None


class RunWatch:
    """Keeps the records true to the service while `run()` runs."""

    def __init__(
        self,
        records: RunStore,
        connections: Connections,
        logs: RunLogs,
        clock: Clock = utc_now,
        chance: random.Random | None = None,
        *,
        settle: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`settle` is asked from time to time what became of submissions that are still open."""
        self._records = records
        self._connections = connections
        self._logs = logs
        self._clock = clock
        self._chance = chance or random.Random()
        self._settle = settle
        self._accounts: dict[str, _Account] = {}
        self._known: dict[str, Run] = {}
        self._records_trouble: AppError | None = None
        self._woken = asyncio.Event()
        self.hidden = False
        self.changed: Listeners[Run] = Listeners()
        self.gone: Listeners[str] = Listeners()
        self.connection_state: Listeners[str] = Listeners()
        """The name of a profile whose last answer or trouble changed."""

    def last_answer(self, profile: str) -> datetime | None:
        return self._account(profile).last_answer

    def trouble(self, profile: str) -> AppError | None:
        return self._connections.refusal(profile) or self._account(profile).trouble

    def next_look(self, profile: str) -> datetime | None:
        return self._account(profile).next_look

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

        stop_listening = self.changed.add(look)
        try:
            now = await self._records.get(run_id)
            if now is None:
                raise NotFound(text("This run is no longer in the records."), text("Refresh the list."))
            look(now)
            return await ended
        finally:
            stop_listening()

    async def run(self) -> None:
        """Watch until cancelled. Also sees what other programs do to the same records."""
        async with TaskScope(lambda name, error: log.error("%s: %s", name, error)) as scope:
            retries = self._retries()
            while True:
                self._woken.clear()
                try:
                    live = await self._refreshed()
                except AppError as error:
                    self._tell_records_trouble(error)
                    await asyncio.sleep(next(retries))
                    continue
                retries = self._retries()
                self._tell_records_trouble(None)
                for run in live:
                    if _is_watched(run):
                        self._start(scope, run.profile)
                    elif run.state.is_open:
                        scope.start("settle", self._keep_settling)
                await self._pause(_LIST_EVERY_S)

    def _start(self, scope: TaskScope, profile: str) -> None:
        scope.start(f"watch {profile}", lambda: self._watch(profile))

    async def _keep_settling(self) -> None:
        """Submissions whose answer was lost are looked for as long as there are any."""
        for pause in delays(*_SETTLE_S, self._chance):
            await asyncio.sleep(pause)
            try:
                if self._settle is None or not any(run.state.is_open for run in await self._records.live()):
                    return
                await self._settle()
            except AppError as error:
                log.warning("open submissions: %s %s", error, error.detail)

    async def _refreshed(self) -> list[Run]:
        live = await self._records.live()
        for run in live:
            self._notice(run)
        alive = {run.id for run in live}
        for run_id, known in list(self._known.items()):
            if run_id in alive or known.state.is_over:
                continue
            now = await self._records.get(run_id)
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
        for profile in {*self._accounts, *(run.profile for run in self._known.values())}:
            account = self._account(profile)
            if trouble is not None or account.trouble is before:
                account.trouble = trouble
                self.connection_state.tell(profile)

    def _notice(self, run: Run) -> None:
        if self._known.get(run.id) != run:
            self._known[run.id] = run
            self.changed.tell(run)

    async def _watch(self, profile: str) -> None:
        account = self._account(profile)
        quickest, slowest = _LAB_PACE_S if profile == LAB else _CLOUD_PACE_S
        interval = quickest
        while True:
            asked_for = 0.0
            try:
                runs = [run for run in await self._records.live() if run.profile == profile and _is_watched(run)]
                now = self._clock()
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
                account.trouble, account.retries = None, None
                interval = quickest if news else min(slowest, interval * 1.5)
                wait = max(interval, _HIDDEN_S) if self.hidden and profile != LAB else interval
                wait *= self._chance.uniform(0.9, 1.1)
            account.next_look = self._clock() + timedelta(seconds=wait)
            self.connection_state.tell(profile)
            await asyncio.sleep(asked_for)
            await self._pause(wait - asked_for)

    async def _without_keys(self, profile: str, account: _Account, error: KeysRefused) -> None:
        """Ask nothing until there are others; then go on at once."""
        log.warning("watching: %s %s", error, error.detail)
        # Where they are held, `Connections` says so, for as long as it is true.
        account.trouble = None if self._connections.refusal(profile) else error
        account.next_look = None
        self.connection_state.tell(profile)
        await self._connections.until_usable(profile)

    def _after(self, error: AppError, account: _Account) -> float:
        """How long to leave the service alone after it failed us."""
        log.warning("watching: %s %s", error, error.detail)
        account.trouble = error
        if account.retries is None:
            account.retries = self._retries()
        return next(account.retries)

    def _retries(self) -> Iterator[float]:
        return delays(*_RETRIES_S, self._chance)

    async def _look(self, profile: str, account: _Account, runs: list[Run]) -> bool:
        connection = await self._connections.open(profile)
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

    async def _look_at(self, connection: Connection, account: _Account, run: Run) -> bool:
        job = await connection.training.show(run.job_id)
        account.last_answer = self._clock()
        if job is None:
            reason = text("The service no longer knows this job; what was recorded stays here.")
            await self._become(run, state=RunState.ABNORMAL, reason=reason, ended=self._clock())
            return True
        # The log is fetched after the state was asked for: when that says over, the log is whole.
        grown = await self._fetch_logs(connection, run, is_last=job.state.is_over)
        after = self._changes(run, job)
        if job.state.is_over and profile_lingers(connection):
            account.lingering[run.id] = self._clock() + _LINGER
        changed = any(getattr(run, name) != value for name, value in after.items() if name != "checked")
        if changed:
            await self._become(run, **after)
        return grown or changed

    def _changes(self, run: Run, job: RemoteJob) -> dict[str, object]:
        ended = run.ended
        if job.state.is_over and ended is None:
            ended = self._clock()
            if job.started is not None and job.duration_ms is not None:
                ended = job.started + timedelta(milliseconds=job.duration_ms)
        return {
            "state": job.state,
            "phase": job.phase,
            "reason": job.exit_message or _reason_of(job.state),
            "started": job.started or run.started,
            "ended": ended,
            "duration_ms": job.duration_ms if job.state.is_over else run.duration_ms,
            "tasks": job.tasks or run.tasks,
            "checked": self._clock(),
        }

    async def _fetch_logs(self, connection: Connection, run: Run, *, is_last: bool) -> bool:
        grown = False
        for task in run.tasks:
            chunk = await connection.training.log_tail(run.job_id, task)
            if chunk is not None:
                part = partial(connection.training.log_part, run.job_id, task)
                grown |= bool(await self._logs.take(run.id, task, chunk, part, is_last=is_last))
        return grown

    async def _become(self, run: Run, **changes: object) -> None:
        try:
            self._notice(await self._records.change(run.id, **changes))
        except NotFound:
            self.forget(run.id)  # another program removed it while we asked

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    def _account(self, profile: str) -> _Account:
        return self._accounts.setdefault(profile, _Account())


def _is_watched(run: Run) -> bool:
    """A damaged record may not say which job it is."""
    return run.state.is_remote and bool(run.job_id)


def _reason_of(state: RunState) -> Text | str:
    if state is not RunState.ABNORMAL:
        return ""
    return text("The service broke off this job and gives no reason; the end of its log may tell more.")


def _retry_after_s(error: AppError) -> float:
    return (error.retry_after_s or 0.0) if isinstance(error, ServiceTrouble) else 0.0


def _concerns_all(error: AppError) -> bool:
    """What keeps the account as a whole from answering; asking about its other runs would be told the same."""
    return isinstance(error, Unreachable | AccessRefused) or _retry_after_s(error) > 0


def profile_lingers(connection: Connection) -> bool:
    """The cloud's last upload of a log lags behind the end by up to a minute; the Lab's does not."""
    return not connection.profile.is_lab
